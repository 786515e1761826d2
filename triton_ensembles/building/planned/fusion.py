"""Fuses the models of a build plan into one: the config of that model, and the plan of its run.

What it does is described in ``runtime/fused``; the rules of ``check`` in recipe_rules/rules/fused.py say what
cannot be fused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from triton_ensembles.building.planned.model_selection import written_backend
from triton_ensembles.building.planned.plan import BuildPlan, called_version, version_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.backends import ENGINES
from triton_ensembles.runtime.fused.plan import DIGEST, STEPS, StepPlan
from triton_ensembles.triton.backends import ENSEMBLE
from triton_ensembles.triton.completed_config import as_json, completed
from triton_ensembles.triton.model_config import ModelConfig, ModelInstanceGroup, in_order


@dataclass(frozen=True)
class Fusion:
    """The one model that an ensemble becomes."""

    ensemble: str  # the folder of the ensemble's own model in git
    version: str  # the name of its version folder
    config: ModelConfig  # its config.pbtxt, without the digest of the plan
    steps: tuple[StepPlan, ...]  # of its plan, in the order in which they run
    called: tuple[StepPlan, ...]  # of its plan: models that are only called

    @property
    def models(self) -> tuple[StepPlan, ...]:
        return (*self.steps, *self.called)

    def config_with(self, plan_sha256: str) -> ModelConfig:
        """The config of a model with this plan."""
        config = ModelConfig()
        config.CopyFrom(self.config)
        config.parameters[DIGEST].string_value = plan_sha256
        return config


def fuse(plan: BuildPlan) -> Fusion:
    """The one model for a plan whose target fuses. Raises :class:`EnsembleError` for a step that cannot be fused."""
    ensemble = plan.ensemble
    uses = [(plan.folders[use.model_name], use) for use in in_order(plan.configs[ensemble])]
    folders = (*(folder for folder, _ in uses), *plan.called)
    counts = (sum(group.count or 1 for group in plan.configs[folder].instance_group) for folder in folders)
    instances = max(1, *counts)
    version = str(max(plan.versions[ensemble] or {1}))
    steps = tuple(
        _step(plan, folder, version_of(plan, use), instances, (dict(use.input_map), dict(use.output_map)))
        for folder, use in uses
    )
    called = tuple(_step(plan, folder, called_version(plan, folder), instances) for folder in plan.called)
    return Fusion(ensemble, version, _config(plan, ensemble, uses, instances, version), steps, called)


def _step(
    plan: BuildPlan, folder: str, version: int, instances: int, maps: tuple[dict[str, str], dict[str, str]] = ({}, {})
) -> StepPlan:
    config = plan.configs[folder]
    backend = written_backend(config) or config.platform
    if backend not in ("python", ENSEMBLE, *ENGINES):
        message = f"the step {folder} cannot be fused: there is no engine for the backend {backend!r}"
        raise EnsembleError(message, path=plan.folder / folder, cure=f"use one of python, {', '.join(ENGINES)}")
    written = as_json(completed(config, backend, instances))
    del written["name"]  # it depends on the ensemble's
    if backend == ENSEMBLE:
        names = {use.model_name: plan.folders[use.model_name] for use in in_order(config)}
        uses = map(as_json, in_order(config))
        written["ensemble_scheduling"]["step"] = [use | {"model_name": names[use["model_name"]]} for use in uses]
    return StepPlan(folder, str(version), backend, written, *maps)


def _config(
    plan: BuildPlan, ensemble: str, uses: Sequence[tuple[str, Any]], instances: int, version: str
) -> ModelConfig:
    config = ModelConfig()
    config.CopyFrom(plan.configs[ensemble])
    config.ClearField("platform")
    config.ClearField("ensemble_scheduling")
    config.backend = "python"
    del config.instance_group[:]
    config.instance_group.add(count=instances, kind=ModelInstanceGroup.KIND_CPU)
    models = [plan.configs[folder] for folder, _ in uses]
    batching = [model.dynamic_batching for model in models if model.HasField("dynamic_batching")]
    if batching and config.max_batch_size:
        longest_delay = max(queue.max_queue_delay_microseconds for queue in batching)
        config.dynamic_batching.max_queue_delay_microseconds = longest_delay
        for tensor in config.input:  # requests stay apart in the Python backend, and the steps join what they can
            tensor.allow_ragged_batch = -1 in tensor.dims
    labels = {
        tensor: f"{version}/{STEPS}/{folder}/{output.label_filename}"
        for folder, use in uses
        for output in plan.configs[folder].output
        if output.label_filename and (tensor := use.output_map.get(output.name))
    }
    for tensor in config.output:
        tensor.label_filename = tensor.label_filename or labels.get(tensor.name, "")
    return config
