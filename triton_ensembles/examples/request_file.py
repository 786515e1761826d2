"""Read a request: JSON as KServe v2 has it, held against the ensemble's config.pbtxt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.request import Request
from triton_ensembles.examples.schema import parse_request
from triton_ensembles.examples.values import tensor_values
from triton_ensembles.triton.model_config import DataType, ModelConfig


def read_request(path: Path, config: ModelConfig, file: Path | None = None) -> Request:
    """Read the request at ``path`` for the ensemble with this ``config``.

    Args:
        file: take the content of this file in place of the one that the request names.

    Raises:
        EnsembleError: it is not JSON, not a request, or not one for this ensemble; or a file cannot be read.
    """
    body = parse_request(path)
    if file and not any(tensor.parameters.file for tensor in body.inputs):
        raise EnsembleError(f"no input of this request is read from a file, so {file.name} cannot be sent", path=path)
    declared = {tensor.name: tensor for tensor in config.input}
    inputs = {}
    for tensor in body.inputs:
        _refuse_unknown(path, "an input", tensor.name, list(declared))
        datatype = DataType.Name(declared[tensor.name].data_type).removeprefix("TYPE_").replace("STRING", "BYTES")
        if tensor.datatype != datatype:
            raise EnsembleError(
                f"{tensor.name} has the datatype {tensor.datatype}, and the ensemble takes {datatype}",
                path=path,
                cure=f'write "datatype": "{datatype}"',
            )
        inputs[tensor.name] = tensor_values(path, tensor, file)
        batch = [-1] if config.max_batch_size > 0 else []
        _refuse_shape(path, tensor.name, inputs[tensor.name].shape, [*batch, *declared[tensor.name].dims])
    for name, each in declared.items():
        if name not in inputs and not each.optional:
            raise EnsembleError(f"the input {name} is missing, and it is not optional", path=path, cure="add it")
    if config.max_batch_size > 0 and len({len(values) for values in inputs.values()}) > 1:
        raise EnsembleError("the inputs differ in their number of rows", path=path, cure="make the first sizes equal")
    for output in body.outputs:
        _refuse_unknown(path, "an output", output.name, [each.name for each in config.output])
    outputs = {output.name: output.parameters.classification or 0 for output in body.outputs}
    label = file.name if file else path.name
    return Request(path, label, inputs, outputs, batched=config.max_batch_size > 0)


def _refuse_unknown(path: Path, kind: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise EnsembleError(
            f"{name!r} is not {kind} of the ensemble", path=path, cure=f"config.pbtxt has {', '.join(known)}"
        )


def _refuse_shape(path: Path, name: str, shape: Sequence[int], declared: Sequence[int]) -> None:
    """``declared`` may hold -1, any size."""
    fits = len(shape) == len(declared) and all(want in (-1, have) for have, want in zip(shape, declared, strict=True))
    if not fits:
        raise EnsembleError(
            f"{name} has the shape {list(shape)}, and the ensemble takes {list(declared)}",
            path=path,
            cure="-1 stands for any size; where an ensemble batches, the first size is the number of rows",
        )
