"""Makes the artifacts of a build plan: downloads their sources, runs their makers, keeps the results in the store.

The accuracy of a model whose engine computes in less than fp32 is measured as soon as the model is made.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from triton_ensembles.artifacts import Job
from triton_ensembles.building.artifact_maker import MakerCall
from triton_ensembles.building.plan import BuildPlan
from triton_ensembles.building.sources import Sources, SourceUnavailableError
from triton_ensembles.building.store import Entry, Store
from triton_ensembles.building.tensorrt_plans import PlanInputs
from triton_ensembles.files import digest, file_digest
from triton_ensembles.progress import Progress
from triton_ensembles.recipe.schema import Artifact


@dataclass(frozen=True)
class MadeArtifact:
    """A made file, and its entry in the manifest (``random``: it, or what it is made from, has random weights)."""

    path: Path
    record: dict[str, Any]


@dataclass(frozen=True)
class Inputs:
    """What an artifact is made from.

    Attributes:
        files: the input files by name.
        sha256: their digests by name.
        file: the one that a maker of one file reads.
        random: whether one of them has random weights.
    """

    files: dict[str, Path]
    sha256: dict[str, str]
    file: str | None
    random: bool

    def plus(self, files: dict[str, Path]) -> Inputs:
        digests = {name: file_digest(path) for name, path in files.items()}
        return replace(self, files=self.files | files, sha256=self.sha256 | digests)


@dataclass(frozen=True)
class ArtifactBuilder:
    """Makes artifacts.

    Attributes:
        sources: those of the run.
        allow_random: use seeded random weights if a source is not available (WEIGHTS=auto).
        plans: what the TensorRT plans are made with; see :func:`triton_ensembles.building.tensorrt_plans.find_plans`.
    """

    plan: BuildPlan
    store: Store
    sources: Sources
    progress: Progress
    allow_random: bool
    plans: Mapping[str, PlanInputs] = field(default_factory=dict)

    def make(self, artifact: Artifact) -> MadeArtifact:
        """Make one artifact, with random weights if its source is not available and that is allowed.

        Raises:
            EnsembleError: the source is not available, the maker failed, or the result is not accurate enough.
        """
        maker = MakerCall(artifact.maker, artifact.options)
        try:
            inputs = self.inputs_of(artifact)
        except SourceUnavailableError as error:
            if not (self.allow_random and artifact.random):
                raise
            self.progress(
                f"RANDOM WEIGHTS: {artifact.path} is made by {artifact.random.maker}, because {error.message}"
            )
            maker = MakerCall(artifact.random.maker, artifact.random.options)
            inputs = Inputs({}, {}, artifact.file, random=True)
        if plan := self.plans.get(artifact.path):
            maker = MakerCall(artifact.maker, artifact.options | plan.options)
            inputs = inputs.plus(plan.files)
        made = self._run(artifact, maker, inputs)
        model = self.plan.selected.get(artifact.step)
        if model is None or artifact not in model.files or model.engine is None or model.engine.precision == "fp32":
            return made
        accuracy = self._measure(artifact, made, inputs, model.engine.precision)
        return replace(made, record=made.record | {"accuracy": accuracy})

    def inputs_of(self, artifact: Artifact) -> Inputs:
        """Download the source of an artifact, and make the artifact that it needs.

        Raises:
            SourceUnavailableError: the source is not available.
        """
        inputs = Inputs({}, {}, artifact.file, random=False)
        if artifact.source:
            source = self.plan.recipe.sources[artifact.source]
            files = self.sources.files(artifact.source, source, self.progress)
            inputs = Inputs(files, source.files, artifact.file, random=False)
        if artifact.needs:
            needed = self.make(self.plan.recipe.artifact(artifact.needs))
            name = Path(artifact.needs).name
            inputs = replace(inputs.plus({name: needed.path}), file=name, random=needed.record["random"])
        return inputs

    def _run(self, artifact: Artifact, maker: MakerCall, inputs: Inputs) -> MadeArtifact:
        origin = {
            **maker.identity(),
            "name": artifact.name,  # two files of the same content are two entries
            "file": inputs.file,
            "source": inputs.sha256,
            "reads": {path: file_digest(self.plan.root / path) for path in artifact.reads},
            **maker.dali_of(self.plan.target),
        }
        started = time.monotonic()
        entry, made = self._get_or_run(origin, artifact.name, maker, inputs, artifact.path)
        if made:
            seconds = time.monotonic() - started
            self.progress(f"{artifact.path}: made by {maker.name} in {seconds:.1f} s{listed(entry.facts)}")
        record = {
            "sha256": entry.sha256,
            "size": entry.path.stat().st_size,
            "random": inputs.random,
            "made_from": {key: origin[key] for key in ("maker", "options", "tools", "source", "reads")},
            "facts": entry.facts,
        }
        return MadeArtifact(entry.path, record)

    def _get_or_run(
        self, origin: dict[str, Any], name: str, maker: MakerCall, inputs: Inputs, subject: str
    ) -> tuple[Entry, bool]:
        """The entry of ``origin`` in the store, and whether the maker was run for it."""
        dali, root = maker.dali_of(self.plan.target), self.plan.root

        def make(output: Path) -> dict[str, Any]:
            job = Job(output, inputs.files, inputs.file, maker.options, root=root, **dali)
            return maker.run(job, subject, self.progress)

        return self.store.get_or_make(digest(origin), name, make)

    def _measure(self, artifact: Artifact, made: MadeArtifact, inputs: Inputs, precision: str) -> dict[str, Any]:
        """The accuracy of the model in ``precision``, compared with fp32 on this machine, for the manifest.

        Raises:
            EnsembleError: it is too low, or this machine does not compute in that precision.
        """
        assert artifact.accuracy is not None, "the recipe was checked"
        check = MakerCall(artifact.accuracy, {"precision": precision})
        # Processors with different instructions for bf16 round differently.
        origin = {
            **check.identity(),
            "model": made.record["sha256"],
            "source": inputs.sha256,
            "processor": _bf16_instructions(),
        }
        inputs = replace(inputs, files=inputs.files | {artifact.name: made.path}, file=artifact.name)
        subject = f"{artifact.path} in {precision}"
        entry, _ = self._get_or_run(origin, "accuracy.json", check, inputs, subject)
        self.progress(f"{subject}: measured on {check.name}{listed(entry.facts)}")
        return {"precision": precision, "measured_on": check.name, **entry.facts}


def listed(facts: dict[str, Any]) -> str:
    """The facts of a maker, for the end of a line."""
    return "".join(f", {key} {value}" for key, value in facts.items() if isinstance(value, str | int | float))


def _bf16_instructions() -> list[str]:
    flags = Path("/proc/cpuinfo").read_text().partition("\nflags")[2].partition("\n")[0].split()
    return sorted({"avx512_bf16", "amx_bf16"}.intersection(flags))
