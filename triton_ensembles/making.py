"""Make the artifacts of a recipe: fetch their sources, run their makers, keep the results in the store."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from triton_ensembles.artifacts import MAKERS
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
    """One way to make an artifact: the recipe's own, or its stand-in with random weights."""

    name: str
    options: dict[str, str | int]

    def identity(self) -> dict[str, Any]:
        """What decides the output apart from the input files: the maker's code, its options, its tools' versions."""
        module = importlib.import_module(MAKERS[self.name])
        assert module.__file__ is not None
        return {
            "maker": self.name,
            "code": file_digest(Path(module.__file__)),
            "options": self.options,
            "tools": {tool: _version(tool) for tool in module.TOOLS},
        }


def makers_of(artifact: Artifact) -> list[Maker]:
    makers = [Maker(artifact.maker, artifact.options)]
    return makers + ([Maker(artifact.random.maker, artifact.random.options)] if artifact.random else [])


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
        EnsembleError: the source cannot be had, or the maker failed.
    """
    maker, *stand_in = makers_of(artifact)
    try:
        files: dict[str, Path] = {}
        sha256: dict[str, str] = {}
        if artifact.source:
            source = recipe.sources[artifact.source]
            files = fetch(artifact.source, source, folder=weights_dir, cache=cache, progress=progress)
            sha256 = source.files
    except SourceUnavailableError as error:
        if not (allow_random and stand_in):
            raise
        progress(f"RANDOM STAND-IN for {artifact.path}: {error.message}")
        return _make(artifact, stand_in[0], {}, {}, target, store, progress, random=True)
    return _make(artifact, maker, files, sha256, target, store, progress, random=False)


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
    name = Path(artifact.path).name
    started = time.monotonic()
    entry, made = store.get_or_make(
        digest(origin), name, lambda output: _run(artifact, maker, files, target, output, progress)
    )
    if made:
        facts = "".join(f", {key} {value}" for key, value in entry.facts.items())
        progress(f"{artifact.path}: made by {maker.name} in {time.monotonic() - started:.1f} s{facts}")
    record = {
        "sha256": entry.sha256,
        "size": entry.path.stat().st_size,
        "random": random,
        "made_from": {key: origin[key] for key in ("maker", "options", "tools", "source", "reads")},
        "facts": entry.facts,
    }
    return Made(entry.path, random, record)


def _run(
    artifact: Artifact, maker: Maker, files: dict[str, Path], target: Target, output: Path, progress: Progress
) -> dict[str, Any]:
    """Run the maker in a process of its own; what it prints is shown only when it fails."""
    parent = os.getpid()
    with tempfile.TemporaryDirectory() as scratch:
        facts, log = Path(scratch) / "facts.json", Path(scratch) / "log"
        job = {
            "output": os.fspath(output),
            "facts": os.fspath(facts),
            "files": {name: os.fspath(path) for name, path in files.items()},
            "file": artifact.file,
            "options": maker.options,
            "dali_device": target.dali_device,
        }
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "triton_ensembles.artifacts.run", maker.name],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                preexec_fn=lambda: die_with(parent),
            )
        try:
            assert process.stdin is not None
            with process.stdin as stdin:
                stdin.write(json.dumps(job).encode())
            started = time.monotonic()
            while True:
                try:
                    process.wait(_TELL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    progress(f"{artifact.path}: {maker.name} at work for {time.monotonic() - started:.0f} s")
        finally:
            process.kill()
            process.wait()
        if process.returncode or not facts.is_file():
            lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            reason = lines[-1] if lines else f"it ended with {process.returncode}"
            raise EnsembleError(f"{maker.name} could not make {artifact.path}: {reason}")
        result: dict[str, Any] = json.loads(facts.read_text())
        return result


def _version(tool: str) -> str:
    try:
        return version(tool)
    except PackageNotFoundError:
        return "not installed"
