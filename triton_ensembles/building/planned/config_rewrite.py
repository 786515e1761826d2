"""Rewrites the config.pbtxt of every model for a target, from the config in git and the selected model file."""

from collections.abc import Collection, Iterable, Mapping

from triton_ensembles.artifacts.tensorrt.profiles import Profile, profiles_of
from triton_ensembles.building.planned.environment_forms import execution_env_path, rename_beside
from triton_ensembles.building.planned.model_selection import SelectedModel
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.schema import Recipe
from triton_ensembles.triton.backends import ENSEMBLE
from triton_ensembles.triton.model_config import ModelConfig, ModelInstanceGroup
from triton_ensembles.triton.model_formats import platforms_of
from triton_ensembles.triton.targets import Target

# Graphs are captured for single requests of the shortest lengths, where launching kernels takes longer than computing.
_GRAPH_STEPS = 4


def built_names(models: Iterable[str], ensemble: str, name: str, called: Collection[str]) -> dict[str, str]:
    """Return the names of models in an archive by those in git. The model ``ensemble`` gets ``name``, with which the
    names of the steps begin, because steps of the same name in two archives of one endpoint reload each other;
    ``called`` are those that a model.py calls by their names, which stay."""
    return {step: step if step in called else f"{name}.{step}" for step in models} | {ensemble: name}


def rewrite_configs(
    configs: Mapping[str, ModelConfig],
    names: Mapping[str, str],
    recipe: Recipe,
    selected: Mapping[str, SelectedModel],
    target: Target,
) -> None:
    """Rewrite ``configs``, which are by the models' names in git, in place, with these new ``names``. Raises
    :class:`EnsembleError`: the profiles of a TensorRT plan do not fit its config."""
    for step, config in configs.items():
        config.name = names[step]
        rename_beside(config, names)
        for use in config.ensemble_scheduling.step:
            use.model_name = names.get(use.model_name, use.model_name)
        if config.platform != ENSEMBLE:
            _rewrite_step(config, selected.get(step), target)
        for key, value in _parameters(step, recipe, target, names).items():
            config.parameters[key].string_value = value


def _parameters(step: str, recipe: Recipe, target: Target, names: Mapping[str, str]) -> dict[str, str]:
    parameters = dict(recipe.parameters.get(step, {}))
    if target.instance_kind == ModelInstanceGroup.KIND_GPU:
        parameters |= recipe.gpu.parameters.get(step, {})
    for environment in recipe.environments.values():
        if step in environment.steps and not target.fuses and (path := execution_env_path(step, environment, names)):
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
        _tune(config, model)


def _set_backend(config: ModelConfig, model: SelectedModel) -> None:
    # OpenVINO's backend has no platform; the first of TensorFlow's two is that of a GraphDef.
    config.backend, config.platform = model.backend, next(iter(platforms_of(model.backend)), "")
    config.default_model_filename = model.loads
    if model.engine is None:
        return
    for group in config.instance_group:
        group.count = model.engine.instances
    if model.engine.precision == "bf16":
        config.parameters["HINT_BF16"].string_value = "YES"


def _tune(config: ModelConfig, model: SelectedModel) -> None:
    """Add settings to ``config`` that make ``model`` fast on a GPU, from the first request on. Raises
    :class:`EnsembleError`: max_batch_size is larger than the plan's profiles, so Triton would not load it.

    Sources: README of triton-inference-server/tensorrt_backend and model_config.proto (ModelOptimizationPolicy,
    ModelInstanceGroup.profile, ModelWarmup) at r24.10; the fields are the same in every release of the table.
    """
    profiles = profiles_of(model.file.options)
    largest = max((profile.maximum[0] for profile in profiles), default=config.max_batch_size)
    if largest < config.max_batch_size:
        message = f"the largest batch in the profiles of {model.file.path} is {largest}"
        cure = "add a profile up to max_batch_size, or lower max_batch_size"
        raise EnsembleError(f"{message}, and max_batch_size is {config.max_batch_size}", cure=cure)
    if model.backend == "tensorrt":
        if len(profiles) > 1:  # Triton loads all, and uses the one with the nearest optimum for each batch
            for group in config.instance_group:
                group.profile.extend(str(number) for number in range(len(profiles)))
        _capture_graphs(config, profiles)
    sizes = sorted({1, *(profile.optimum[0] for profile in profiles)} if profiles else {1, config.max_batch_size})
    if config.HasField("dynamic_batching") and not config.dynamic_batching.preferred_batch_size:
        config.dynamic_batching.preferred_batch_size.extend(size for size in sizes if size > 1)
    if model.backend != "dali":  # its warm-up would need an encoded image
        for size in sizes:
            _warm_up(config, size, profiles)


def _capture_graphs(config: ModelConfig, profiles: tuple[Profile, ...]) -> None:
    """A CUDA graph is for one shape. If only the batch varies, Triton captures its preferred batch sizes on its own;
    if lengths vary, the shapes are listed here: batch 1 with the shortest lengths."""
    cuda = config.optimization.cuda
    cuda.graphs = True
    cuda.output_copy_stream = True
    single = next((profile for profile in profiles if len(profile.minimum) > 1 and profile.minimum[0] == 1), None)
    if single is None:
        return
    step = single.minimum[1]
    for number in range(1, _GRAPH_STEPS + 1):
        if number * step > single.maximum[1]:
            return
        graph = cuda.graph_spec.add(batch_size=1)
        for tensor in config.input:
            graph.input[tensor.name].dim.append(number * step)


def _warm_up(config: ModelConfig, batch: int, profiles: tuple[Profile, ...]) -> None:
    """Add a request of zeros of this batch size, so that the first client does not wait while kernels are loaded."""
    request = config.model_warmup.add(name=f"batch {batch}", batch_size=batch)
    fitting = [profile for profile in profiles if profile.optimum[0] == batch] or profiles
    for tensor in config.input:
        entry = request.inputs[tensor.name]
        entry.data_type = tensor.data_type
        entry.zero_data = True
        free = iter(fitting[0].optimum[1:] if fitting else ())
        entry.dims.extend(next(free, 1) if size == -1 else size for size in tensor.dims)
