"""A maker of artifacts with its options: its identity, which is part of every key in the store, and its process."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import TypeAdapter

from triton_ensembles.artifacts import Job, load_maker
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import digest, file_digest
from triton_ensembles.ground.paths import IMPORTED_FROM, PACKAGE
from triton_ensembles.ground.programs import started
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.artifact import AccuracyCheck, AccuracyScript, Artifact
from triton_ensembles.project.recipe.artifact_kinds import INT8, OWN_CHECK, PRECISION, REFERENCE, RUN, SCRIPT
from triton_ensembles.triton.targets import Target

_REPORT_SECONDS = 5.0


@dataclass(frozen=True)
class MakerCall:
    """A maker, an accuracy check or a derivation, with its options."""

    name: str  # of MAKERS or ACCURACY_CHECKS (project/recipe/artifact_kinds.py), of DERIVATIONS, or OWN_CHECK
    options: dict[str, Any]
    tools: tuple[str, ...] = ()  # packages whose versions change its output, besides those that its module names

    @property
    def title(self) -> str:
        """Return its name for people: that of the script where a script is the maker."""
        return str(self.options[RUN]) if self.name == SCRIPT else self.name

    def identity(self) -> dict[str, Any]:
        """Facts that determine the output apart from the input files: code, options, versions of tools."""
        module = self._module
        assert module.__file__ is not None
        reads = {path: file_digest(PACKAGE / path) for path in getattr(module, "READS", ())}
        return {
            "maker": self.name,
            "code": digest([file_digest(Path(module.__file__)), reads]),
            "options": self.options,
            "tools": {tool: _version(tool) for tool in (*module.TOOLS, *self.tools)},
        }

    def dali_of(self, target: Target) -> dict[str, str]:
        """The target's DALI, if the output depends on it."""
        if not getattr(self._module, "DIFFERS_BY_DALI", False):
            return {"dali_device": "", "dali_version": ""}
        return {"dali_device": target.dali_device, "dali_version": target.dali_version}

    def run(self, job: Job, subject: str, progress: Progress, *, packages: Path | None = None) -> dict[str, Any]:
        """Run it in its own process and return its facts. Raises :class:`EnsembleError` with the last line that it has
        printed. ``subject``: the artifact's path, for messages. ``packages``: a folder of packages that come first."""
        with tempfile.TemporaryDirectory() as scratch:
            facts, log = Path(scratch) / "facts.json", Path(scratch) / "log"
            command: list[str | Path] = [sys.executable, "-m", "triton_ensembles.artifacts.run", self.name, facts]
            settings: dict[str, Any] = {"stdin": subprocess.PIPE, "stderr": subprocess.STDOUT, "cwd": IMPORTED_FROM}
            settings["env"] = os.environ | ({"PYTHONPATH": str(packages.resolve())} if packages else {})
            with log.open("wb") as stream, started(command, stdout=stream, **settings) as process:
                assert process.stdin is not None
                with process.stdin as stdin:
                    stdin.write(TypeAdapter(Job).dump_json(job))
                begun = time.monotonic()
                while True:
                    try:
                        process.wait(_REPORT_SECONDS)
                        break
                    except subprocess.TimeoutExpired:
                        progress(f"{subject}: {self.title} is running, {time.monotonic() - begun:.0f} s so far")
            if process.returncode or not facts.is_file():
                lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
                reason = lines[-1] if lines else f"it exited with {process.returncode}"
                raise EnsembleError(f"{subject}: {self.name} failed: {reason}")
            result: dict[str, Any] = json.loads(facts.read_text())
            return result

    @property
    def _module(self) -> ModuleType:
        return load_maker(self.name)[0]


def makers_of(artifact: Artifact) -> list[MakerCall]:
    """Every maker and accuracy check that can affect the artifact."""
    makers = [MakerCall(artifact.maker, artifact.options, artifact.tools)]
    if artifact.random:
        makers.append(MakerCall(artifact.random.maker, artifact.random.options, artifact.tools))
    if artifact.accuracy:
        makers.append(accuracy_check(artifact, ""))
    return makers


def accuracy_check(artifact: Artifact, precision: str) -> MakerCall:
    """The check that ``artifact`` names, of it as it is computed in ``precision``."""
    match artifact.accuracy:
        case AccuracyScript(run=script, options=options):
            return MakerCall(OWN_CHECK, {RUN: script, PRECISION: precision, "options": options})
        case AccuracyCheck() as check:
            options = check.model_dump(exclude_none=True, exclude={"on"})
        case _:
            options = {}
    reference = {REFERENCE: Path(artifact.needs).name} if artifact.maker == INT8 and artifact.needs else {}
    return MakerCall(artifact.measured_on, {PRECISION: precision, **reference, **options})


def _version(tool: str) -> str:
    try:
        return version(tool)
    except PackageNotFoundError:
        return "not installed"
