"""Tunes a model's config.pbtxt for a GPU: batch sizes, profiles, CUDA graphs and warm-up.

Sources: README of triton-inference-server/tensorrt_backend and model_config.proto (ModelOptimizationPolicy,
ModelInstanceGroup.profile, ModelWarmup) at r24.10; the fields are the same in every release of the table.
"""

from triton_ensembles.artifacts.tensorrt.profiles import Profile, profiles_of
from triton_ensembles.building.planned.model_selection import SelectedModel
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.model_config import ModelConfig

# Graphs are captured for single requests of the shortest lengths, where launching kernels takes longer than computing.
_GRAPH_STEPS = 4


def tune(config: ModelConfig, model: SelectedModel) -> None:
    """Add settings to ``config`` that make ``model`` fast on a GPU, from the first request on. Raises
    :class:`EnsembleError`: max_batch_size is larger than the plan's profiles, so Triton would not load it."""
    profiles = profiles_of(model.file.options)
    largest = max((profile.maximum[0] for profile in profiles), default=config.max_batch_size)
    if largest < config.max_batch_size:
        raise EnsembleError(
            f"the largest batch in the profiles of {model.file.path} is {largest}, and max_batch_size is "
            f"{config.max_batch_size}",
            cure="add a profile up to max_batch_size, or lower max_batch_size",
        )
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
    """A CUDA graph is for one shape. If only the batch varies, Triton captures its preferred batch sizes by itself; if
    lengths vary, the shapes are listed here: batch 1 with the shortest lengths."""
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
