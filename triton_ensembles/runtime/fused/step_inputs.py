"""Triton's treatment of tensors between the steps: it fits them to the next model's config, or refuses the request.

Source: core r24.10, ensemble_scheduler.cc (ReshapeTensorDims), infer_request.cc (Normalize, ValidateRequestInputs) and
infer_response.cc (Output::Reshape). The messages are Triton's own, so that clients see the same ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.backends.common.model_instance import TRITON_TYPES

_BATCH_NOTE = (
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each "
    "input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting "
    "max_batch_size to zero. See the model configuration docs for more info on max_batch_size."
)


_DTYPES = {name: np.dtype(np.object_ if name == "TYPE_STRING" else dtype) for dtype, name in TRITON_TYPES.items()}


class RefusedError(Exception):
    """Triton would refuse the request of a step, with this message and INVALID_ARG."""


@dataclass(frozen=True)
class DeclaredTensor:
    """An input or output in the config of a step's model; ``dtype`` is None for a type that numpy does not have."""

    name: str
    data_type: str
    dims: tuple[int, ...]
    reshape: tuple[int, ...] | None
    optional: bool
    ragged: bool
    dtype: np.dtype[Any] | None


def declared(entries: Sequence[Mapping[str, Any]]) -> dict[str, DeclaredTensor]:
    """The ``input`` or ``output`` of a config by name."""
    return {
        entry["name"]: DeclaredTensor(
            entry["name"],
            entry["data_type"],
            tuple(entry["dims"]),
            tuple(entry["reshape"].get("shape", ())) if entry.get("reshape") else None,
            bool(entry.get("optional")),
            bool(entry.get("allow_ragged_batch")),
            _DTYPES.get(entry["data_type"]),
        )
        for entry in entries
    }


class Tensor(NamedTuple):
    """A tensor of a running request."""

    array: Array | None  # None for an output that its step did not return, or an optional input that was not sent
    batch: int  # size of the request that it comes from; 0 if that model does not batch
    private: bool = False  # whether nothing but this request holds the array


def fitted(array: Array, batch: int, dims: Sequence[int], *, batched: bool) -> Array:
    """The array between a model that batches and one that does not: with or without a batch axis of 1. ``dims`` are
    those in the config of the reader, which has a batch axis if ``batched``."""
    if batched == (batch != 0):
        return array
    if batched:
        return array[None] if _matches(array.shape, dims) else array
    return array[0] if not _matches(array.shape, dims) and batch == 1 else array


def accepted(
    model: str, max_batch_size: int, inputs: Mapping[str, DeclaredTensor], arrays: Mapping[str, Array], tag: str
) -> dict[str, Array]:
    """The inputs as the model gets them, with ``reshape`` applied. Raises :class:`RefusedError`, which begins with
    ``tag``: an input is missing, or has another type, shape or batch size than the config allows."""
    required = [tensor.name for tensor in inputs.values() if not tensor.optional]
    if not len(required) <= len(arrays) <= len(inputs):
        raise RefusedError(tag + _missing(model, inputs, required, arrays))
    if unknown := next((name for name in arrays if name not in inputs), None):
        raise RefusedError(f"unexpected inference input '{unknown}' for model '{model}'")
    batch = 0
    if max_batch_size:
        if not arrays:  # from the Python backend
            raise RefusedError(f"{tag}out of bounds index 0: request has 0 inputs")
        for name, array in sorted(arrays.items()):
            if array.ndim == 0:
                raise RefusedError(f"{tag}input '{name}' has no shape but model requires batch dimension for '{model}'")
            batch = batch or len(array)
            if len(array) != batch:
                raise RefusedError(f"{tag}input '{name}' batch size does not match other inputs for '{model}'")
        if batch > max_batch_size:
            raise RefusedError(f"{tag}inference request batch-size must be <= {max_batch_size} for '{model}'")
    return {
        name: _reshaped(_checked(array, inputs[name], model, bool(max_batch_size), tag), inputs[name], max_batch_size)
        for name, array in arrays.items()
    }


def returned(array: Array, tensor: DeclaredTensor | None, *, batched: bool) -> Array:
    """An output as the server passes it on: back from ``reshape`` to ``dims``. Raises :class:`RefusedError` where
    Triton passes on too few or too many elements, which no client can read."""
    if tensor is None or tensor.reshape is None:
        return array
    lead = array.shape[:1] if batched else ()
    shape = _shape(lead, tensor.reshape, array.shape[len(lead) :], tensor.dims)
    if prod(shape) != array.size:
        raise RefusedError(f"output '{tensor.name}' has shape {_listed(array.shape)}, which is not {_listed(shape)}")
    return array.reshape(shape)


@cache
def type_of(dtype: np.dtype[Any]) -> str:
    """Triton's name of the element type: strings are arrays of objects."""
    return "TYPE_STRING" if dtype.kind in "OSU" else TRITON_TYPES.get(dtype.name, dtype.name)


def _checked(array: Array, tensor: DeclaredTensor, model: str, batched: bool, tag: str) -> Array:
    data_type = tensor.data_type if array.dtype == tensor.dtype else type_of(array.dtype)
    if data_type != tensor.data_type:
        kind, expected = (
            name.removeprefix("TYPE_").replace("STRING", "BYTES") for name in (data_type, tensor.data_type)
        )
        message = f"inference input '{tensor.name}' data-type is '{kind}', but model '{model}' expects '{expected}'"
        raise RefusedError(tag + message)
    if not _matches(array.shape[1:] if batched else array.shape, tensor.dims):
        shape, note = ((-1, *tensor.dims), _BATCH_NOTE) if batched else (tensor.dims, "")
        message = f"unexpected shape for input '{tensor.name}' for model '{model}'. Expected {_listed(shape)}"
        raise RefusedError(f"{tag}{message}, got {_listed(array.shape)}. {note}")
    if batched and not len(array) and (count := prod(array.shape[1:])):  # which Triton takes for one row
        if data_type == "TYPE_STRING":
            message = f"expected {count} string elements for inference input '{tensor.name}' for model '{model}', got 0"
        else:
            message = f"input byte size mismatch for input '{tensor.name}' for model '{model}'. "
            message += f"Expected {count * array.itemsize}, got 0"
        raise RefusedError(tag + message)
    return array


def _reshaped(array: Array, tensor: DeclaredTensor, max_batch_size: int) -> Array:
    if tensor.reshape is None:
        return array
    lead = array.shape[:1] if max_batch_size else ()
    return array.reshape(_shape(lead, tensor.dims, array.shape[len(lead) :], tensor.reshape))


def _shape(lead: Sequence[int], before: Sequence[int], sizes: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    """The sizes of the variable axes keep their order."""
    variable = iter([size for dim, size in zip(before, sizes, strict=False) if dim == -1])
    return (*lead, *(next(variable, 0) if dim == -1 else dim for dim in after))


def _matches(shape: Sequence[int], dims: Sequence[int]) -> bool:
    return len(shape) == len(dims) and all(dim in (-1, size) for size, dim in zip(shape, dims, strict=True))


def _missing(
    model: str, inputs: Mapping[str, DeclaredTensor], required: Sequence[str], arrays: Mapping[str, Array]
) -> str:
    fixed = len(required) == len(inputs)
    missing = _names(name for name in required if name not in arrays).replace("[]", "]")  # as the server spells it
    expected = f"{len(inputs)} inputs" if fixed else f"number of inputs between {len(required)} and {len(inputs)}"
    return (
        f"expected {expected} but got {len(arrays)} inputs for model '{model}'. Got input(s) {_names(sorted(arrays))}, "
        f"but missing required input(s) {missing}. "
        "Please provide all required input(s)."
    )


def _names(names: Any) -> str:
    return "[" + ",".join(f"'{name}'" for name in names) + "]"


def _listed(sizes: Sequence[int]) -> str:
    return "[" + ",".join(map(str, sizes)) + "]"
