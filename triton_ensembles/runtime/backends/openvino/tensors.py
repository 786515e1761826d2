"""Matches the tensors of a file that OpenVINO has read with its config: names, types, dims and variable axes."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import openvino as ov

from triton_ensembles.runtime.backends.common.checksum import fingerprint
from triton_ensembles.runtime.backends.common.model_instance import (
    LoadError,
    ModelInstance,
    Tensor,
    check_batch_axis,
    check_tensors,
)
from triton_ensembles.runtime.backends.common.padding import Axes

CHECKSUM = "weights_crc32"
"""Where a build's model.xml has the CRC-32 of model.bin, in its rt_info. OpenVINO itself does not check the content."""

Names = Mapping[str, str]
"""OpenVINO's names of tensors by the config's. A TensorFlow graph's tensor ``op:0`` is ``op`` in a config."""

_TYPES = {
    "boolean": "TYPE_BOOL",
    **{f"u{bits}": f"TYPE_UINT{bits}" for bits in (8, 16, 32, 64)},
    **{f"i{bits}": f"TYPE_INT{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"TYPE_FP{bits}" for bits in (16, 32, 64)},
}
# Two lengths that any model of sequences takes: an output's axis that changes with them is its length.
_LENGTHS = (3, 5)


def read(core: ov.Core, model: ModelInstance) -> tuple[ov.Model, Names]:
    """The file's graph with exactly the config's outputs, and with a batch axis of any size when that is batched."""
    weights = model.file.with_suffix(".bin") if model.file.suffix == ".xml" else None
    try:
        graph = core.read_model(model.file)
    except RuntimeError as error:
        files = f"{model.file.name} with {weights.name}" if weights else model.file.name
        raise LoadError(f"OpenVINO cannot read {files}: {reason(error)}") from error
    if (
        weights
        and model.checks_files
        and graph.has_rt_info(CHECKSUM)
        and graph.get_rt_info(CHECKSUM).astype(int) != fingerprint(weights)["crc32"]
    ):
        raise LoadError(f"{weights.name} is damaged or of another build than {model.file.name}: build the model again")
    _add_inner_outputs(graph, model.outputs)
    inputs = _names("input", model, model.inputs, graph.inputs, all_needed=True)
    outputs = _names("output", model, model.outputs, graph.outputs, all_needed=False)
    for result in graph.get_results():
        if result.output(0).names.isdisjoint(outputs.values()):
            graph.remove_result(result)
    if model.batched:
        _free_batch_axis(graph, model)
    return graph, inputs | outputs


def variable_axes(graph: ov.Model, names: Names, model: ModelInstance) -> Axes:
    """The axes of the inputs' one variable length, and the axes of the outputs that change with it. OpenVINO does not
    keep ONNX's names of such axes, so the outputs' shapes are computed for inputs of two lengths."""
    dims = {tensor.name: dims_of(graph.input(names[tensor.name])) or () for tensor in model.inputs}
    inputs = {}
    for name, sizes in dims.items():
        variable = [axis for axis, size in enumerate(sizes) if axis and size == -1]
        if len(variable) > 1:
            raise LoadError(f'padded_batching needs one axis of any size, but input "{name}" is {list(sizes)}')
        if variable:
            inputs[name] = variable[0]
    if not inputs:
        raise LoadError("padded_batching needs an axis of any size in the file's inputs, but there is none")
    probes = []
    for length in _LENGTHS:
        probe = graph.clone()
        _reshape(probe, {names[name]: _with_size(dims[name], axis, length) for name, axis in inputs.items()}, model)
        probes.append([dims_of(probe.output(names[tensor.name])) or () for tensor in model.outputs])
    outputs = {}
    for tensor, first, second in zip(model.outputs, *probes, strict=True):
        pairs = list(zip(first, second, strict=True))
        if _LENGTHS in pairs:
            outputs[tensor.name] = pairs.index(_LENGTHS)
    return Axes(inputs, outputs)


def is_quantized(graph: ov.Model) -> bool:
    """Return whether parts of the graph are computed in int8."""
    return any(node.get_type_name() == "FakeQuantize" for node in graph.get_ops())


def type_of(port: Any) -> str:
    """Triton's name of the element type of an input or output."""
    name = port.element_type.get_type_name()
    return _TYPES.get(name, f"OpenVINO's {name}")


def reason(error: RuntimeError) -> str:
    """OpenVINO's message without the lines about its own source code."""
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("Exception from", "Check '")))


def _candidates(tensor: Tensor) -> tuple[str, str]:
    return tensor.name, f"{tensor.name}:0"


def _add_inner_outputs(graph: ov.Model, outputs: Sequence[Tensor]) -> None:
    """Make tensors inside the graph outputs: a frozen graph may continue after the tensor that the config declares."""
    there = {name for port in graph.outputs for name in port.names}
    for tensor in outputs:
        if there.isdisjoint(_candidates(tensor)):
            for name in _candidates(tensor):
                with contextlib.suppress(RuntimeError):  # no such tensor: _names reports it later
                    graph.add_outputs(name)


def _names(
    kind: str, model: ModelInstance, declared: Sequence[Tensor], ports: Sequence[Any], *, all_needed: bool
) -> dict[str, str]:
    """OpenVINO's names of the declared tensors, after checking that the file has them with these types and dims."""
    names: dict[str, str] = {}
    tensors: dict[str, Tensor] = {}
    for port in ports:
        own = next((tensor.name for tensor in declared if not port.names.isdisjoint(_candidates(tensor))), None)
        name = own or port.any_name.removesuffix(":0")
        names[name] = port.any_name
        tensors[name] = Tensor(name, type_of(port), dims_of(port))
    check_tensors(kind, declared, tensors.values(), batched=model.batched, all_needed=all_needed)
    return {tensor.name: names[tensor.name] for tensor in declared}


def _free_batch_axis(graph: ov.Model, model: ModelInstance) -> None:
    """Let the batch axis of the inputs have any size, even if the file was exported for 1."""
    shapes = {
        port.any_name: _with_size(dims, 0, -1) for port in graph.inputs if (dims := dims_of(port)) and dims[0] != -1
    }
    if shapes:
        _reshape(graph, shapes, model)
    for port in graph.outputs:
        check_batch_axis("output", port.any_name, dims_of(port), model.max_batch_size)


def _reshape(graph: ov.Model, shapes: Mapping[str, Sequence[int]], model: ModelInstance) -> None:
    try:
        graph.reshape({name: ov.PartialShape(list(sizes)) for name, sizes in shapes.items()})
    except RuntimeError as error:
        message = f"the inputs of {model.file.name} cannot have the shapes {list(shapes.values())}: {reason(error)}"
        raise LoadError(message) from error


def _with_size(dims: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    return (*dims[:axis], size, *dims[axis + 1 :])


def dims_of(port: Any) -> tuple[int, ...] | None:
    """The port's dims: -1 for an axis of any size, None for any number of axes."""
    shape = port.partial_shape
    if shape.rank.is_dynamic:
        return None
    return tuple(-1 if size.is_dynamic else size.get_length() for size in shape)
