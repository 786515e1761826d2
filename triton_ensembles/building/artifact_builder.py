"""Make the artifacts of a recipe: fetch their sources, run their makers, keep the results in the store.

A model whose engine computes in a lower precision than fp32 is measured as soon as it is made.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from triton_ensembles.artifacts import ACCURACY, MAKERS
from triton_ensembles.building.recipe import Artifact, Options, Recipe
from triton_ensembles.building.sources import SourceUnavailableError, fetch
from triton_ensembles.building.store import Store
from triton_ensembles.building.tensorrt_plans import PLAN, PlanMaker
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import digest, file_digest
from triton_ensembles.paths import ROOT
from triton_ensembles.processes import die_with_parent
from triton_ensembles.triton.targets import Target

Progress = Callable[[str], None]
_TELL_SECONDS = 5.0


@dataclass(frozen=True)
class Made:
    """A made artifact: its file, and what the manifest says of it."""

    path: Path
    random: bool
    record: dict[str, Any]


@dataclass(frozen=True)
class Materials:
    """What an artifact is made from: files by name with their digests, which of them is meant, whether it is random."""

    files: dict[str, Path]
    sha256: dict[str, str]
    file: str | None
    random: bool

    def joined_by(self, files: dict[str, Path]) -> Materials:
        digests = {name: file_digest(path) for name, path in files.items()}
        return replace(self, files=self.files | files, sha256=self.sha256 | digests)


@dataclass(frozen=True)
class Maker:
    """One way to make an artifact: the recipe's own, or its stand-in with random weights. Or a measure of accuracy."""

    name: str
    options: Options

    def identity(self) -> dict[str, Any]:
        """What decides the output apart from the input files: the maker's code, its options, its tools' versions."""
        module = self._module
        assert module.__file__ is not None
        reads = {path: file_digest(ROOT / path) for path in getattr(module, "READS", ())}
        code = file_digest(Path(module.__file__))
        return {
            "maker": self.name,
            "code": digest([code, reads]) if reads else code,
            "options": self.options,
            "tools": {tool: _version(tool) for tool in module.TOOLS},
        }

    def dali_of(self, target: Target) -> dict[str, str]:
        """The target's DALI, for a maker that makes something else of it on each target; nothing for the others."""
        if not getattr(self._module, "DIFFERS_BY_DALI", False):
            return {"dali_device": "", "dali_version": ""}
        return {"dali_device": target.dali_device, "dali_version": target.dali_version}

    @property
    def _module(self) -> ModuleType:
        return importlib.import_module((MAKERS | ACCURACY)[self.name])


def makers_of(artifact: Artifact) -> list[Maker]:
    """All that may have a say in what the artifact is, and whether it is good enough."""
    makers = [Maker(artifact.maker, artifact.options)]
    if artifact.random:
        makers.append(Maker(artifact.random.maker, artifact.random.options))
    if artifact.accuracy:
        makers.append(Maker(artifact.accuracy, {}))
    return makers


@dataclass(frozen=True)
class Workshop:
    """Where and for what the artifacts of one recipe are made.

    Attributes:
        allow_random: go on with seeded random weights where a source cannot be had (WEIGHTS=auto).
        weights_dir: a folder in which the user has put source files.
        plans: who builds TensorRT plans; None where none is needed.
        root: the folder of the project, which paths in the recipe are relative to.
    """

    recipe: Recipe
    target: Target
    store: Store
    downloads: Path
    progress: Progress
    allow_random: bool
    weights_dir: Path | None = None
    plans: PlanMaker | None = None
    root: Path = ROOT

    def make(self, artifact: Artifact) -> Made:
        """Make one artifact, or its stand-in with random weights where its source cannot be had and that is allowed.

        Raises:
            EnsembleError: the source cannot be had, the maker failed, or what was made is not accurate enough.
        """
        maker, random = Maker(artifact.maker, artifact.options), False
        try:
            materials = self.materials(artifact)
        except SourceUnavailableError as error:
            if not (self.allow_random and artifact.random):
                raise
            self.progress(f"RANDOM STAND-IN for {artifact.path}: {error.message}")
            maker, random = Maker(artifact.random.maker, artifact.random.options), True
            materials = Materials({}, {}, artifact.file, random=True)
        if artifact.maker == PLAN and self.plans is not None:
            maker = Maker(PLAN, artifact.options | self.plans.options(artifact))
            materials = materials.joined_by(self.plans.files(artifact))
        made = self._run(artifact, maker, materials, random=random or materials.random)
        engine = self.recipe.engines.get(artifact.step) if self.target.chooses_engines else None
        if engine is None or engine.precision == "fp32":
            return made
        if artifact != self.recipe.model_for(artifact.step, engine.backend):
            return made
        facts = self._measure(artifact, made, materials, engine.precision)
        return replace(made, record=made.record | {"accuracy": facts})

    def materials(self, artifact: Artifact) -> Materials:
        """What the artifact is made from: the files of its source, and the artifact that it needs.

        Raises:
            SourceUnavailableError: the source cannot be had.
        """
        found = Materials({}, {}, artifact.file, random=False)
        if artifact.source:
            source = self.recipe.sources[artifact.source]
            folder, cache = self.weights_dir, self.downloads
            files = fetch(artifact.source, source, folder=folder, cache=cache, progress=self.progress)
            found = Materials(files, source.files, artifact.file, random=False)
        if artifact.needs:
            needed = self.make(self.recipe.artifact(artifact.needs))
            name = Path(artifact.needs).name
            found = replace(found.joined_by({name: needed.path}), file=name, random=needed.random)
        return found

    def _run(self, artifact: Artifact, maker: Maker, materials: Materials, *, random: bool) -> Made:
        dali = maker.dali_of(self.target)
        origin = {
            **maker.identity(),
            "file": materials.file,
            "source": materials.sha256,
            "reads": {path: file_digest(self.root / path) for path in artifact.reads},
            **dali,
        }
        job = {"files": materials.files, "file": materials.file, "options": maker.options, "root": self.root, **dali}
        started = time.monotonic()
        entry, made = self.store.get_or_make(
            digest(origin), artifact.name, lambda output: _run(maker.name, job, output, artifact.path, self.progress)
        )
        if made:
            seconds = time.monotonic() - started
            self.progress(f"{artifact.path}: made by {maker.name} in {seconds:.1f} s{_listed(entry.facts)}")
        record = {
            "sha256": entry.sha256,
            "size": entry.path.stat().st_size,
            "random": random,
            "made_from": {key: origin[key] for key in ("maker", "options", "tools", "source", "reads")},
            "facts": entry.facts,
        }
        return Made(entry.path, random, record)

    def _measure(self, artifact: Artifact, made: Made, materials: Materials, precision: str) -> dict[str, Any]:
        """How near the model in ``precision`` comes to fp32 on this machine, for the manifest.

        Raises:
            EnsembleError: not near enough, or this machine cannot compute in that precision.
        """
        assert artifact.accuracy is not None, "the recipe was checked"
        measure = Maker(artifact.accuracy, {"precision": precision})
        # Processors with other instructions for bf16 round in other places.
        origin = {
            **measure.identity(),
            "model": made.record["sha256"],
            "source": materials.sha256,
            "processor": _bf16_instructions(),
        }
        job = {
            "files": materials.files | {artifact.name: made.path},
            "file": artifact.name,
            "options": measure.options,
            "root": self.root,
            **measure.dali_of(self.target),
        }
        what = f"{artifact.path} in {precision}"
        entry, _ = self.store.get_or_make(
            digest(origin), "accuracy.json", lambda output: _run(measure.name, job, output, what, self.progress)
        )
        self.progress(f"{what}: measured on {measure.name}{_listed(entry.facts)}")
        return {"precision": precision, "measured_on": measure.name, **entry.facts}


def _listed(facts: dict[str, Any]) -> str:
    return "".join(f", {key} {value}" for key, value in facts.items() if isinstance(value, str | int | float))


def _bf16_instructions() -> list[str]:
    flags = Path("/proc/cpuinfo").read_text().partition("\nflags")[2].partition("\n")[0].split()
    return sorted({"avx512_bf16", "amx_bf16"}.intersection(flags))


def _run(name: str, job: dict[str, Any], output: Path, what: str, progress: Progress) -> dict[str, Any]:
    """Run a maker in a process of its own and return its facts; what it prints is shown only when it fails."""
    with tempfile.TemporaryDirectory() as scratch:
        facts, log = Path(scratch) / "facts.json", Path(scratch) / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "triton_ensembles.artifacts.run", name],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                preexec_fn=die_with_parent(),
            )
        try:
            assert process.stdin is not None
            with process.stdin as stdin:
                stdin.write(json.dumps(job | {"output": output, "facts": facts}, default=os.fspath).encode())
            started = time.monotonic()
            while True:
                try:
                    process.wait(_TELL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    progress(f"{what}: {name} at work for {time.monotonic() - started:.0f} s")
        finally:
            process.kill()
            process.wait()
        if process.returncode or not facts.is_file():
            lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            reason = lines[-1] if lines else f"it ended with {process.returncode}"
            raise EnsembleError(f"{what}: {name} failed: {reason}")
        result: dict[str, Any] = json.loads(facts.read_text())
        return result


def _version(tool: str) -> str:
    try:
        return version(tool)
    except PackageNotFoundError:
        return "not installed"
