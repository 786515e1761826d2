"""What config.pbtxt of a step says on a target, after the config in git and what was chosen to run the step."""

from __future__ import annotations

from triton_ensembles.building.gpu_config import tune
from triton_ensembles.building.model_selection import Chosen
from triton_ensembles.triton.backends import PLATFORM_OF
from triton_ensembles.triton.model_config import ModelConfig, ModelInstanceGroup
from triton_ensembles.triton.targets import Target


def adapt(config: ModelConfig, chosen: Chosen | None, target: Target) -> None:
    """Rewrite one step's config in place. ``chosen`` is None for a step without a model file, such as a Python step."""
    for group in config.instance_group:
        if group.kind == ModelInstanceGroup.KIND_GPU:
            group.kind = target.instance_kind
            # Triton starts two instances of a KIND_CPU group that states no count.
            group.count = group.count or 1
            # SageMaker places the models of an endpoint itself.
            del group.gpus[:]
    if target.pads_batches and _is_true(config, "padded_batching"):
        for tensor in config.input:
            tensor.allow_ragged_batch = -1 in tensor.dims
    if chosen is None:
        return
    if chosen.instead_of or chosen.engine:
        _name_engine(config, chosen)
    if target.instance_kind == ModelInstanceGroup.KIND_GPU:
        tune(config, chosen)


def _name_engine(config: ModelConfig, chosen: Chosen) -> None:
    # OpenVINO's backend has no platform; of TensorFlow's two the first is that of a GraphDef.
    config.backend, config.platform = chosen.backend, next(iter(PLATFORM_OF.get(chosen.backend, ())), "")
    config.default_model_filename = chosen.file.name
    if chosen.engine is None:
        return
    for group in config.instance_group:
        group.count = chosen.engine.instances
    if chosen.engine.precision == "bf16":
        config.parameters["HINT_BF16"].string_value = "YES"


def _is_true(config: ModelConfig, parameter: str) -> bool:
    # Asking a protobuf map for a key that it lacks would add the key.
    return parameter in config.parameters and config.parameters[parameter].string_value == "true"
