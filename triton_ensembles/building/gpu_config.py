"""What a model's config.pbtxt says on a GPU beside KIND_GPU: batch sizes, profiles, CUDA graphs, warm-up.

Sources: README of triton-inference-server/tensorrt_backend and model_config.proto (ModelOptimizationPolicy,
ModelInstanceGroup.profile, ModelWarmup) at r24.10; the fields are the same in every release of the table.
"""

from __future__ import annotations

from triton_ensembles.building.model_selection import Chosen
from triton_ensembles.errors import EnsembleError
from triton_ensembles.tensorrt.profiles import Profile, profiles_of
from triton_ensembles.triton.model_config import ModelConfig

# Graphs are captured for one request of a few lengths: there launching kernels takes longer than computing.
_GRAPH_STEPS = 4


def tune(config: ModelConfig, chosen: Chosen) -> None:
    """Add to ``config`` what makes the chosen engine quick on a GPU, and quick at its first request.

    Raises:
        EnsembleError: the plan's profiles end below the config's max_batch_size: Triton would not load it.
    """
    profiles = profiles_of(chosen.file.options)
    largest = max((profile.maximum[0] for profile in profiles), default=config.max_batch_size)
    if largest < config.max_batch_size:
        raise EnsembleError(
            f"the profiles of {chosen.file.path} end at a batch of {largest}, and max_batch_size is "
            f"{config.max_batch_size}",
            cure="let a profile reach it, or lower max_batch_size",
        )
    if chosen.backend == "tensorrt":
        _use_profiles(config, profiles)
        _capture_graphs(config, profiles)
    sizes = sorted({1, *(profile.optimum[0] for profile in profiles)} if profiles else {1, config.max_batch_size})
    if config.HasField("dynamic_batching") and not config.dynamic_batching.preferred_batch_size:
        config.dynamic_batching.preferred_batch_size.extend(size for size in sizes if size > 1)
    if chosen.backend != "dali":  # which would need a photograph
        for size in sizes:
            _warm_up(config, size, profiles)


def _use_profiles(config: ModelConfig, profiles: tuple[Profile, ...]) -> None:
    """Triton takes for each batch the profile with the nearest optimum. Without numbers it only loads the first."""
    if len(profiles) > 1:
        for group in config.instance_group:
            group.profile.extend(str(number) for number in range(len(profiles)))


def _capture_graphs(config: ModelConfig, profiles: tuple[Profile, ...]) -> None:
    """A CUDA graph is of one shape. Where only the batch varies, Triton itself captures the batch sizes it prefers;
    where lengths vary, the shapes are listed: one request of the shortest lengths."""
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
    """One request of zeros, so that the first client does not wait for kernels to be loaded."""
    request = config.model_warmup.add(name=f"batch {batch}", batch_size=batch)
    fitting = [profile for profile in profiles if profile.optimum[0] == batch] or profiles
    for tensor in config.input:
        entry = request.inputs[tensor.name]
        entry.data_type = tensor.data_type
        entry.zero_data = True
        free = iter(fitting[0].optimum[1:] if fitting else ())
        entry.dims.extend(next(free, 1) if size == -1 else size for size in tensor.dims)
