"""Derives mapped weights from the ONNX models that ONNX Runtime runs on the CPU: artifacts/mapped_weights.py.

Packed weights are for one version of ONNX Runtime and one processor: those of the build, unless the archive brings an
ONNX Runtime of its own. Elsewhere an archive works as well, with the plain weights.
"""

from collections.abc import Mapping
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

from triton_ensembles.artifacts import Job
from triton_ensembles.backends.onnxruntime.weights_gate import instruction_sets
from triton_ensembles.building.artifact_builder import MadeArtifact
from triton_ensembles.building.artifact_maker import MakerCall
from triton_ensembles.building.plan import BuildPlan
from triton_ensembles.building.store import Store
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import digest, file_digest
from triton_ensembles.progress import Progress
from triton_ensembles.recipe.schema import Artifact
from triton_ensembles.triton.model_config import ModelInstanceGroup

ENGINE = "onnxruntime"


def map_weights(
    plan: BuildPlan,
    made: Mapping[str, MadeArtifact],
    store: Store,
    progress: Progress,
    *,
    onnxruntime: Path | None = None,
) -> dict[str, MadeArtifact]:
    """The files that replace an ONNX model, and those beside it, by their paths in the recipe.

    Args:
        made: the artifacts of ``plan`` by their paths.
        onnxruntime: a folder with the ONNX Runtime of the archive, built for the Python that runs this; None for the
            installed one.

    Raises:
        EnsembleError: ONNX Runtime cannot load a model.
    """
    derived: dict[str, MadeArtifact] = {}
    for step, artifact in mapped_models(plan).items():
        call = derivation(plan, step, onnxruntime)
        derived |= _derive(artifact, made[artifact.path], call, store, progress, onnxruntime)
    return derived


def mapped_models(plan: BuildPlan) -> dict[str, Artifact]:
    """The ONNX models that ONNX Runtime runs on the CPU, by step."""
    if plan.target.instance_kind != ModelInstanceGroup.KIND_CPU:
        return {}
    return {step: model.file for step, model in plan.selected.items() if model.backend == ENGINE}


def derivation(plan: BuildPlan, step: str, onnxruntime: Path | None = None) -> MakerCall:
    """What is done to the model of ``step``. The weights are packed for this machine's processor."""
    level = plan.configs[step].optimization.graph.level
    return MakerCall(
        "mapped_weights", {"level": level, ENGINE: _version(onnxruntime), "instruction_sets": tuple(instruction_sets())}
    )


def _derive(
    artifact: Artifact, made: MadeArtifact, call: MakerCall, store: Store, progress: Progress, onnxruntime: Path | None
) -> dict[str, MadeArtifact]:
    def make(output: Path) -> dict[str, Any]:
        job = Job(output, {artifact.name: made.path}, artifact.name, call.options, dali_device="", dali_version="")
        return call.run(job, artifact.path, progress, packages=onnxruntime)

    identity = call.identity()
    entry, new = store.get_or_make(digest({**identity, "model": made.record["sha256"]}), "weights", make)
    if new:
        progress(f"{artifact.path}: weights {entry.facts['weights']}")
    made_by = {key: identity[key] for key in ("maker", "options", "tools")}
    beside = {
        "random": made.record["random"],
        "made_from": {**made_by, "source": {artifact.name: made.record["sha256"]}, "reads": {}},
        "facts": {},
    }
    model = made.record | {
        "made_from": made.record["made_from"] | {"weights": made_by},
        "facts": made.record["facts"] | entry.facts,
    }
    return {
        str(Path(artifact.path).with_name(file.name)): MadeArtifact(
            file,
            (model if file.name == artifact.name else beside)
            | {"sha256": file_digest(file), "size": file.stat().st_size},
        )
        for file in sorted(entry.path.iterdir())
    }


def _version(folder: Path | None) -> str:
    if folder is None:
        return version(ENGINE)
    for found in distributions(name=ENGINE, path=[str(folder)]):
        return found.version
    raise EnsembleError("this folder has no ONNX Runtime to map weights with", path=folder)
