"""Read a request: JSON as KServe v2 has it, held against the ensemble's config.pbtxt."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_json
from triton_ensembles.project.examples.request import Request
from triton_ensembles.project.examples.tensor import InputTensor, Strict, tensor_values
from triton_ensembles.triton.model_config import ModelConfig, datatype_of

_LARGEST = 16 << 20  # bytes; what is longer belongs into a file that the request names
_FORM = 'a request is {"inputs": [{"name": …, "datatype": …, "shape": […], "data": […]}]}'


class OutputParameters(Strict):
    classification: Annotated[int, Field(ge=1)] | None = None


class RequestedOutput(Strict):
    name: str
    parameters: OutputParameters = OutputParameters()


class Body(Strict):
    inputs: Annotated[tuple[InputTensor, ...], Field(min_length=1)]
    outputs: tuple[RequestedOutput, ...] = ()


def read_request(path: Path, config: ModelConfig) -> Request:
    """Read the request at ``path`` for the ensemble with this ``config``. Raises :class:`EnsembleError`: it is not
    JSON, not a request, or not one for this ensemble; or a file that it names cannot be read."""
    try:
        return _request(path, _parse(path), config)
    except EnsembleError as error:
        error.path = path
        raise


def _parse(path: Path) -> Body:
    try:
        return Body.model_validate(read_json(path, _LARGEST))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the request"
        words = {"missing": "is missing", "extra_forbidden": "is not a key that is known here"}
        message = words.get(first["type"], f"is wrong: {first['msg']}")
        raise EnsembleError(f"{place} {message}", cure=_FORM) from error
    except ValueError as error:
        raise EnsembleError(f"this is not JSON that can be read: {error}", cure=_FORM) from error


def _request(path: Path, body: Body, config: ModelConfig) -> Request:
    declared = {tensor.name: tensor for tensor in config.input}
    batch = [-1] if config.max_batch_size > 0 else []
    inputs = {}
    for tensor in body.inputs:
        _refuse_unknown("an input", tensor.name, list(declared))
        taken = datatype_of(declared[tensor.name].data_type)
        if tensor.datatype != taken:
            message = f"{tensor.name} has the datatype {tensor.datatype}, and the ensemble takes {taken}"
            raise EnsembleError(message, cure=f'write "datatype": "{taken}"')
        values = inputs[tensor.name] = tensor_values(tensor, path.parent)
        expected_shape = [*batch, *declared[tensor.name].dims]
        if len(values.shape) != len(expected_shape) or any(
            dim not in (-1, size) for size, dim in zip(values.shape, expected_shape, strict=True)
        ):
            message = f"{tensor.name} has the shape {list(values.shape)}, and the ensemble takes {expected_shape}"
            cure = "-1 stands for any size; where an ensemble batches, the first size is the number of rows"
            raise EnsembleError(message, cure=cure)
    for name, tensor_config in declared.items():
        if name not in inputs and not tensor_config.optional:
            raise EnsembleError(f"the input {name} is missing, and it is not optional", cure="add it")
    if batch and len({len(values) for values in inputs.values()}) > 1:
        raise EnsembleError("the inputs differ in their number of rows", cure="make the first sizes equal")
    for output in body.outputs:
        _refuse_unknown("an output", output.name, [tensor_config.name for tensor_config in config.output])
    outputs = {output.name: output.parameters.classification or 0 for output in body.outputs}
    return Request(path, path.name, inputs, outputs, batched=bool(batch))


def _refuse_unknown(kind: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise EnsembleError(f"{name!r} is not {kind} of the ensemble", cure=f"config.pbtxt has {', '.join(known)}")
