"""Derives from the models that engines run on the CPU what they map instead of copying it into each process.

ONNX Runtime: artifacts/mapped_weights.py. Packed weights are for one version of ONNX Runtime and one processor: those
of the build, unless the archive brings an ONNX Runtime of its own. Elsewhere an archive works as well, with plain
weights. OpenVINO: artifacts/openvino_ir.py, for any processor.
"""

import json
from collections.abc import Mapping
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict

from triton_ensembles.artifacts import Job
from triton_ensembles.building.made.artifact_builder import MadeArtifact, listed
from triton_ensembles.building.made.artifact_maker import MakerCall
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.planned.model_selection import SelectedModel
from triton_ensembles.building.planned.plan import BuildPlan
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import digest, file_digest
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.artifact import Artifact
from triton_ensembles.runtime.backends.common.instruction_sets import instruction_sets
from triton_ensembles.triton.model_config import ModelInstanceGroup

LEAST_BYTES = 4 << 20
"""For ONNX Runtime: a copy of a smaller ONNX model is lost in the 50 MiB that a process with an engine takes."""


def map_weights(
    plan: BuildPlan, made: Mapping[str, MadeArtifact], store: Store, progress: Progress, onnxruntime: Path | None = None
) -> dict[str, MadeArtifact]:
    """The artifacts of ``plan``, which are ``made``, by path in the recipe, with what is derived from a model in its
    place. ``onnxruntime``: a folder with the archive's ONNX Runtime for the Python that runs this; None for the
    installed one. Raises :class:`EnsembleError`: an engine cannot load its model."""
    artifacts = dict(made)
    for step, call in derivations(plan, onnxruntime).items():
        model = plan.selected[step]
        for source in (file for file in model.files if file.path in made):
            if model.loads == source.name and made[source.path].path.stat().st_size < LEAST_BYTES:
                continue
            artifacts |= _derive(model, source, artifacts.pop(source.path), call, store, progress, onnxruntime)
    return artifacts


def derivations(plan: BuildPlan, onnxruntime: Path | None = None) -> dict[str, MakerCall]:
    """Files that are derived from each step's model, by step."""
    if plan.target.instance_kind != ModelInstanceGroup.KIND_CPU:
        return {}
    calls: dict[str, MakerCall] = {}
    for step, model in plan.selected.items():
        config = plan.configs[step]
        if model.backend == "onnxruntime":
            options = {"level": config.optimization.graph.level, "onnxruntime": _version(onnxruntime)}
            calls[step] = MakerCall("mapped_weights", {**options, "instruction_sets": tuple(instruction_sets())})
        elif model.loads != model.file.name:
            fields = MessageToDict(config, preserving_proto_field_name=True)
            shapes = {key: fields.get(key, 0) for key in ("max_batch_size", "input", "output")}
            calls[step] = MakerCall("openvino_ir", {"config": json.dumps(shapes, sort_keys=True)})
    return calls


def _derive(
    model: SelectedModel,
    source: Artifact,
    artifact: MadeArtifact,
    call: MakerCall,
    store: Store,
    progress: Progress,
    onnxruntime: Path | None,
) -> dict[str, MadeArtifact]:
    def make(output: Path) -> dict[str, Any]:
        job = Job(output, {source.name: artifact.path}, source.name, call.options)
        return call.run(job, source.path, progress, packages=onnxruntime)

    identity = call.identity()
    entry, new = store.get_or_make(digest({**identity, "model": artifact.record["sha256"]}), "weights", make)
    if new:
        progress(f"{source.path}: {call.name}{listed(entry.facts)}")
    made_by = {key: identity[key] for key in ("maker", "options", "tools")}
    beside = {**made_by, "source": {source.name: artifact.record["sha256"]}, "reads": {}}
    files = {}
    for file in sorted(entry.path.iterdir()):
        record = {"sha256": file_digest(file), "size": file.stat().st_size, "random": artifact.record["random"]}
        if file.name == model.loads:
            record["made_from"] = artifact.record["made_from"] | {"weights": made_by}
            record["facts"] = artifact.record["facts"] | entry.facts
            record |= {"accuracy": artifact.record["accuracy"]} if "accuracy" in artifact.record else {}
        else:
            record |= {"made_from": beside, "facts": {}}
        files[str(Path(source.path).with_name(file.name))] = MadeArtifact(file, record)
    return files


def _version(folder: Path | None) -> str:
    if folder is None:
        return version("onnxruntime")
    for package in distributions(name="onnxruntime", path=[str(folder)]):
        return package.version
    raise EnsembleError("this folder has no ONNX Runtime to map weights with", path=folder)
