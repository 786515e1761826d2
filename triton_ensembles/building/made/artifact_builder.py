"""Makes the artifacts of a build plan: downloads their sources, runs their makers, keeps the results in the store.

The accuracy of a model is checked as soon as the model is made.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from triton_ensembles.artifacts import Job
from triton_ensembles.building.made.artifact_maker import MakerCall, accuracy_check
from triton_ensembles.building.made.sources import Sources, SourceUnavailableError
from triton_ensembles.building.made.store import Entry, Store
from triton_ensembles.building.made.tensorrt_plans import PlanInputs
from triton_ensembles.building.planned.plan import BuildPlan
from triton_ensembles.ground.files import digest, file_digest
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.artifact import AccuracyScript, Artifact
from triton_ensembles.project.recipe.artifact_kinds import INT8
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.runtime.backends.common.instruction_sets import instruction_sets


@dataclass(frozen=True)
class MadeArtifact:
    """A made file, and its entry in the manifest (``random``: it, or what it is made from, has random weights)."""

    path: Path
    record: dict[str, Any]


@dataclass(frozen=True)
class Inputs:
    """Inputs of an artifact: the files that its maker reads."""

    files: dict[str, Path]  # the input files by name
    sha256: dict[str, str]  # their digests by name
    file: str | None  # the one that a maker of one file reads
    random: bool  # whether one of them has random weights

    def plus(self, files: dict[str, Path]) -> Inputs:
        digests = {name: file_digest(path) for name, path in files.items()}
        return replace(self, files=self.files | files, sha256=self.sha256 | digests)


@dataclass(frozen=True)
class ArtifactBuilder:
    """Makes artifacts."""

    plan: BuildPlan
    store: Store
    sources: Sources  # those of the run
    progress: Progress
    allow_random: bool  # use seeded random weights if a source is not available (WEIGHTS=auto)
    # what the TensorRT plans are made with; see building.made.tensorrt_plans.find_plans
    plans: Mapping[str, PlanInputs] = field(default_factory=dict)

    def make(self, artifact: Artifact) -> MadeArtifact:
        """Make one artifact, with random weights if its source is not available and that is allowed. Raises
        :class:`EnsembleError`: the source is not available, the maker failed, or the result is not accurate enough."""
        maker = MakerCall(artifact.maker, artifact.options, artifact.tools)
        try:
            inputs = self.inputs_of(artifact)
        except SourceUnavailableError as error:
            if not (self.allow_random and artifact.random):
                raise
            maker = MakerCall(artifact.random.maker, artifact.random.options, artifact.tools)
            self.progress(f"RANDOM WEIGHTS: {artifact.path} is made by {maker.title}, because {error.message}")
            inputs = Inputs({}, {}, artifact.file, random=True)
        if plan := self.plans.get(artifact.path):
            maker = MakerCall(artifact.maker, artifact.options | plan.options)
            inputs = inputs.plus(plan.files)
        model = self._run(artifact, maker, inputs)
        accuracy = self._accuracy(artifact, model, inputs)
        return replace(model, record=model.record | {"accuracy": accuracy}) if accuracy else model

    def inputs_of(self, artifact: Artifact) -> Inputs:
        """Download the source of an artifact, and make the artifact that it needs. Raises
        :class:`SourceUnavailableError`: the source is not available."""
        inputs = Inputs({}, {}, artifact.file, random=False)
        if artifact.source:
            source, recipe = self.plan.recipe.sources[artifact.source], self.plan.folder / RECIPE
            files = self.sources.files(artifact.source, source, recipe, self.plan.root, self.progress)
            inputs = replace(inputs, files=files, sha256=source.files)
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
        entry, is_new = self._get_or_run(origin, artifact.name, maker, inputs, artifact.path)
        if is_new:
            seconds = time.monotonic() - started
            self.progress(f"{artifact.path}: made by {maker.title} in {seconds:.1f} s{listed(entry.facts)}")
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

    def _accuracy(self, artifact: Artifact, result: MadeArtifact, inputs: Inputs) -> dict[str, Any]:
        """Result of the artifact's accuracy check, for the manifest: a script of the project about each file, the
        others about a model whose engine computes in less than fp32, compared with fp32 on this machine. Raises
        :class:`EnsembleError`: it is too low, or this machine does not compute in that precision."""
        model, check = self.plan.selected.get(artifact.step), artifact.accuracy
        engine = model.engine if model and artifact in model.files else None
        precision = "int8" if artifact.maker == INT8 else engine.precision if engine else "fp32"
        own = isinstance(check, AccuracyScript)
        if check is None or (precision == "fp32" and not own):
            return {}
        about = artifact.measured_on
        subject = f"{artifact.path} in {precision}" if precision != "fp32" else artifact.path
        if result.record["random"] and (own or precision == "int8"):  # without training, classes are near ties
            self.progress(f"{subject}: not checked by {about}, because its weights are random")
            return {}
        call = accuracy_check(artifact, precision)
        origin = {
            **call.identity(),
            "model": result.record["sha256"],
            "source": inputs.sha256,
            # Processors with different instructions round differently.
            "processor": instruction_sets() if precision != "fp32" else [],
            "reads": {path: file_digest(self.plan.root / path) for path in artifact.checked_by},
        }
        inputs = replace(inputs, files=inputs.files | {artifact.name: result.path}, file=artifact.name)
        entry, _ = self._get_or_run(origin, "accuracy.json", call, inputs, subject)
        self.progress(f"{subject}: measured {'by' if own else 'on'} {about}{listed(entry.facts)}")
        return {"precision": precision, "measured_on": about, **entry.facts}


def listed(facts: dict[str, Any]) -> str:
    """The facts of a maker, for the end of a line."""
    return "".join(f", {key} {value}" for key, value in facts.items() if isinstance(value, str | int | float))
