"""Rewrites the config.pbtxt of every model for a target, from the config in git and the selected model file."""

from collections.abc import Mapping

from triton_ensembles.building.planned.environment_forms import execution_env_path, rename_beside
from triton_ensembles.building.planned.gpu_config import tune
from triton_ensembles.building.planned.model_selection import SelectedModel
from triton_ensembles.project.recipe.schema import Recipe
from triton_ensembles.triton.backends import PLATFORM_OF
from triton_ensembles.triton.model_config import ModelConfig, ModelInstanceGroup
from triton_ensembles.triton.targets import Target


def rewrite_configs(
    configs: Mapping[str, ModelConfig],
    ensemble: str,
    name: str,
    recipe: Recipe,
    selected: Mapping[str, SelectedModel],
    target: Target,
) -> None:
    """Rewrite ``configs``, which are by the models' names in git, in place.

    Args:
        ensemble: the model that is the ensemble. It gets ``name``.
        name: the ensemble's name. The names of the steps begin with it, because steps of the same name in two archives
            of one endpoint reload each other.

    Raises:
        EnsembleError: the profiles of a TensorRT plan do not fit its config.
    """
    names = {step: name if step == ensemble else f"{name}.{step}" for step in configs}
    for step, config in configs.items():
        config.name = names[step]
        rename_beside(config, names)
        if step == ensemble:
            for use in config.ensemble_scheduling.step:
                use.model_name = names.get(use.model_name, use.model_name)
        else:
            _rewrite_step(config, selected.get(step), target)
        for key, value in _parameters(step, recipe, target, names).items():
            config.parameters[key].string_value = value


def _parameters(step: str, recipe: Recipe, target: Target, names: Mapping[str, str]) -> dict[str, str]:
    parameters = dict(recipe.parameters.get(step, {}))
    if target.instance_kind == ModelInstanceGroup.KIND_GPU:
        parameters |= recipe.gpu.parameters.get(step, {})
    for environment in recipe.environments.values():
        if step in environment.steps and not target.fuses:
            path = execution_env_path(step, environment, names)
            if path:
                parameters["EXECUTION_ENV_PATH"] = path
    return parameters


def _rewrite_step(config: ModelConfig, model: SelectedModel | None, target: Target) -> None:
    """``model`` is None for a step without a model file, such as a Python step."""
    for group in config.instance_group:
        if group.kind == ModelInstanceGroup.KIND_GPU:
            group.kind = target.instance_kind
            # Triton starts two instances of a KIND_CPU group without a count.
            group.count = group.count or 1
            # SageMaker places the models of an endpoint itself.
            del group.gpus[:]
    # Reading a missing key of a protobuf map would add it.
    padded = "padded_batching" in config.parameters and config.parameters["padded_batching"].string_value == "true"
    if target.pads_batches and padded:
        for tensor in config.input:
            tensor.allow_ragged_batch = -1 in tensor.dims
    if model is None:
        return
    if model.instead_of or model.engine:
        _set_backend(config, model)
    if model.loads != model.file.name:
        config.default_model_filename = model.loads
    if target.instance_kind == ModelInstanceGroup.KIND_GPU:
        tune(config, model)


def _set_backend(config: ModelConfig, model: SelectedModel) -> None:
    # OpenVINO's backend has no platform; the first of TensorFlow's two is that of a GraphDef.
    config.backend, config.platform = model.backend, next(iter(PLATFORM_OF.get(model.backend, ())), "")
    config.default_model_filename = model.loads
    if model.engine is None:
        return
    for group in config.instance_group:
        group.count = model.engine.instances
    if model.engine.precision == "bf16":
        config.parameters["HINT_BF16"].string_value = "YES"
