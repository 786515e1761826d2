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
from typing import Any

from triton_ensembles.artifacts import ACCURACY, MAKERS
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import ROOT
from triton_ensembles.processes import die_with
from triton_ensembles.recipe import Artifact, Recipe
from triton_ensembles.sources import SourceUnavailableError, fetch
from triton_ensembles.store import Store, digest, file_digest
from triton_ensembles.targets import Target

Progress = Callable[[str], None]
_TELL_SECONDS = 5.0


@dataclass(frozen=True)
class Made:
    """A made artifact: its file, and what the manifest says of it."""

    path: Path
    random: bool
    record: dict[str, Any]


@dataclass(frozen=True)
class Maker:
    """One way to make an artifact: the recipe's own, or its stand-in with random weights. Or a measure of accuracy."""

    name: str
    options: dict[str, str | int]

    def identity(self) -> dict[str, Any]:
        """What decides the output apart from the input files: the maker's code, its options, its tools' versions."""
        module = importlib.import_module((MAKERS | ACCURACY)[self.name])
        assert module.__file__ is not None
        reads = {path: file_digest(ROOT / path) for path in getattr(module, "READS", ())}
        code = file_digest(Path(module.__file__))
        return {
            "maker": self.name,
            "code": digest([code, reads]) if reads else code,
            "options": self.options,
            "tools": {tool: _version(tool) for tool in module.TOOLS},
        }


def makers_of(artifact: Artifact) -> list[Maker]:
    """All that may have a say in what the artifact is, and whether it is good enough."""
    makers = [Maker(artifact.maker, artifact.options)]
    if artifact.random:
        makers.append(Maker(artifact.random.maker, artifact.random.options))
    if artifact.accuracy:
        makers.append(Maker(artifact.accuracy, {}))
    return makers


def make_artifact(
    artifact: Artifact,
    recipe: Recipe,
    target: Target,
    *,
    allow_random: bool,
    weights_dir: Path | None,
    cache: Path,
    store: Store,
    progress: Progress,
) -> Made:
    """Make one artifact, or its stand-in with random weights where its source cannot be had and that is allowed.

    Raises:
        EnsembleError: the source cannot be had, the maker failed, or the precision of the step's engine is too low.
    """
    files: dict[str, Path] = {}
    sha256: dict[str, str] = {}
    try:
        if artifact.source:
            source = recipe.sources[artifact.source]
            files = fetch(artifact.source, source, folder=weights_dir, cache=cache, progress=progress)
            sha256 = source.files
        maker, random = Maker(artifact.maker, artifact.options), False
    except SourceUnavailableError as error:
        if not (allow_random and artifact.random):
            raise
        progress(f"RANDOM STAND-IN for {artifact.path}: {error.message}")
        maker, random = Maker(artifact.random.maker, artifact.random.options), True
    made = _make(artifact, maker, files, sha256, target, store, progress, random=random)
    engine = recipe.engines.get(artifact.step) if target.chooses_engines else None
    if engine is None or engine.precision == "fp32" or artifact != recipe.model_of(artifact.step):
        return made
    facts = _measure(artifact, made, files, sha256, engine.precision, store, progress)
    return replace(made, record=made.record | {"accuracy": facts})


def _make(
    artifact: Artifact,
    maker: Maker,
    files: dict[str, Path],
    sha256: dict[str, str],
    target: Target,
    store: Store,
    progress: Progress,
    *,
    random: bool,
) -> Made:
    origin = {
        **maker.identity(),
        "file": artifact.file,
        "source": sha256,
        "reads": {path: file_digest(ROOT / path) for path in artifact.reads},
        "dali_device": target.dali_device,
    }
    job = {"files": files, "file": artifact.file, "options": maker.options, "dali_device": target.dali_device}
    started = time.monotonic()
    entry, made = store.get_or_make(
        digest(origin), Path(artifact.path).name, lambda output: _run(maker.name, job, output, artifact.path, progress)
    )
    if made:
        progress(f"{artifact.path}: made by {maker.name} in {time.monotonic() - started:.1f} s{_listed(entry.facts)}")
    record = {
        "sha256": entry.sha256,
        "size": entry.path.stat().st_size,
        "random": random,
        "made_from": {key: origin[key] for key in ("maker", "options", "tools", "source", "reads")},
        "facts": entry.facts,
    }
    return Made(entry.path, random, record)


def _measure(
    artifact: Artifact,
    made: Made,
    files: dict[str, Path],
    sha256: dict[str, str],
    precision: str,
    store: Store,
    progress: Progress,
) -> dict[str, Any]:
    """How near the model in ``precision`` comes to fp32 on this machine, for the manifest.

    Raises:
        EnsembleError: not near enough, or this machine cannot compute in that precision.
    """
    assert artifact.accuracy is not None, "the recipe was checked"
    measure = Maker(artifact.accuracy, {"precision": precision})
    # Processors with other instructions for bf16 round in other places.
    origin = {**measure.identity(), "model": made.record["sha256"], "source": sha256, "processor": _bf16_instructions()}
    model = Path(artifact.path).name
    job = {"files": files | {model: made.path}, "file": model, "options": measure.options, "dali_device": "cpu"}
    what = f"{artifact.path} in {precision}"
    entry, _ = store.get_or_make(
        digest(origin), "accuracy.json", lambda output: _run(measure.name, job, output, what, progress)
    )
    progress(f"{what}: measured on {measure.name}{_listed(entry.facts)}")
    return {"precision": precision, "measured_on": measure.name, **entry.facts}


def _listed(facts: dict[str, Any]) -> str:
    return "".join(f", {key} {value}" for key, value in facts.items())


def _bf16_instructions() -> list[str]:
    flags = Path("/proc/cpuinfo").read_text().partition("\nflags")[2].partition("\n")[0].split()
    return sorted({"avx512_bf16", "amx_bf16"}.intersection(flags))


def _run(name: str, job: dict[str, Any], output: Path, what: str, progress: Progress) -> dict[str, Any]:
    """Run a maker in a process of its own and return its facts; what it prints is shown only when it fails."""
    parent = os.getpid()
    with tempfile.TemporaryDirectory() as scratch:
        facts, log = Path(scratch) / "facts.json", Path(scratch) / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "triton_ensembles.artifacts.run", name],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                preexec_fn=lambda: die_with(parent),
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
