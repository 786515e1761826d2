"""Inputs and outputs of a model: core r24.10 model_config_utils.cc ValidateModelIOConfig and what it calls."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from triton_ensembles.check.backend import backend_of
from triton_ensembles.check.completion import left_out
from triton_ensembles.check.examples import COMPLETING, X, Y, io_tensor, plan_model, python_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Example, rule
from triton_ensembles.check.text.unknown import UnknownValueError
from triton_ensembles.spelling import listed
from triton_ensembles.triton.backends import TENSORRT_PLATFORM
from triton_ensembles.triton.model_config import DataType

SOURCE = "core r24.10 model_config_utils.cc ValidateIOShape"
GOOD = python_model()
VARIABLE = -1
ELEMENT_BYTES = {
    "TYPE_BOOL": 1, "TYPE_UINT8": 1, "TYPE_INT8": 1, "TYPE_UINT16": 2, "TYPE_INT16": 2, "TYPE_FP16": 2, "TYPE_BF16": 2,
    "TYPE_UINT32": 4, "TYPE_INT32": 4, "TYPE_FP32": 4, "TYPE_UINT64": 8, "TYPE_INT64": 8, "TYPE_FP64": 8,
}  # fmt: skip
_NON_LINEAR = io_tensor("X", "FP16", "8, 4, 4", "is_non_linear_format_io: true")
_SCALAR = io_tensor("X", "FP32", "1", "reshape { shape: [ ] }")
_SHAPE_TENSOR = io_tensor("X", "INT32", "1", "is_shape_tensor: true")


def tensors(model: Model) -> Iterator[tuple[str, int, Any]]:
    """("input" or "output", index, ModelInput or ModelOutput) of every tensor of the config, as far as it is known."""
    for kind in ("input", "output"):
        with suppress(UnknownValueError):
            yield from enumerated(model, kind)


def enumerated(model: Model, kind: str) -> Iterator[tuple[str, int, Any]]:
    for index, tensor in enumerate(getattr(model.config, kind)):
        yield kind, index, tensor


def repeated(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(index, name) of each that has come before."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield index, name
        seen.add(name)


def type_name(data_type: int) -> str:
    return DataType.Name(data_type) if data_type in DataType.values() else str(data_type)


def same_shape(one: Sequence[int], other: Sequence[int]) -> bool:
    """As triton/common CompareDimsWithWildcard: equal, where -1 equals everything."""
    return len(one) == len(other) and all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=True))


def element_count(dims: Sequence[int]) -> int:
    """As triton/common GetElementCount: -1 when a dimension is variable, 0 for no dimensions."""
    return VARIABLE if VARIABLE in dims else math.prod(dims) if dims else 0


def _each(model: Model, is_wrong: Callable[[Any], object], field: str, message: str, cure: str) -> Iterator[Finding]:
    """A finding for each tensor that ``is_wrong``; ``message`` may use {kind} and {name}."""
    for kind, index, tensor in tensors(model):
        with suppress(UnknownValueError):
            if is_wrong(tensor):
                text = message.format(kind=kind, name=tensor.name or f"number {index + 1}")
                yield Finding(model.at(kind, index, field), text, cure=cure)


@rule(
    "Every input and output has a name",
    bad=python_model(inputs="{ data_type: TYPE_FP32, dims: [ 4 ] }"),
    words="model … must specify 'name'",
)
def tensor_name_missing(model: Model) -> Iterator[Finding]:
    return _each(model, lambda tensor: not tensor.name, "name", "{kind} {name} has no name", 'write name: "…"')


@rule(
    "Every input and output has a data_type",
    bad=python_model(inputs='{ name: "X", dims: [ 4 ] }'),
    words="model … '…' must specify 'data_type'",
)
def tensor_data_type_missing(model: Model) -> Iterator[Finding]:
    return _each(
        model,
        # Of one that has nothing at all, tensor-name-missing says enough.
        lambda tensor: tensor.data_type == DataType.TYPE_INVALID and (tensor.name or tensor.dims),
        "data_type",
        "{kind} '{name}' has no data_type",
        "write data_type: TYPE_…, such as TYPE_FP32",
    )


@rule(
    "Every input and output has dims",
    bad=python_model(inputs='{ name: "X", data_type: TYPE_FP32 }'),
    good=python_model(inputs=io_tensor("X", dims="1")),
    words="model … '…' must specify 'dims'",
)
def tensor_dims_missing(model: Model) -> Iterator[Finding]:
    return _each(
        model,
        lambda tensor: not tensor.dims and (tensor.name or tensor.data_type),
        "dims",
        "{kind} '{name}' has no dims",
        "write dims: [ … ] without the batch axis; [ 1 ] for one value",
    )


@rule(
    "Inputs and outputs that a config leaves out are those of the model's file",
    source="backends r24.10 AutoCompleteConfig; model.cc Model::Init validates the completed config",
    severity=Severity.NOTE,
    bad=Example(python_model(inputs='{ name: "X" }'), {"1/model.py": COMPLETING}),
    good=Example(python_model(), {"1/model.py": COMPLETING}),
    words="model … '…' must specify 'data_type'",
)
def config_completed(model: Model) -> Iterator[Finding]:
    paths = left_out(model) if model.is_completed and model.has_config else ()
    fields = list(dict.fromkeys(str(path[-1]) for path in paths if path != ("max_batch_size",)))
    if fields:
        yield Finding(
            model.at(),
            f"this config leaves {listed(fields)} to the {backend_of(model).name} backend, so they are not checked",
            "Triton completes the config by default; with --disable-auto-complete-config it refuses the model, or "
            "every request to it",
            "write them; GET /v2/models/<name>/config of a running server prints the completed configuration",
        )


@rule(
    "A dimension is at least 1, or -1 for one of variable size",
    bad=python_model(inputs=io_tensor("X", dims="0, 4")),
    good=python_model(inputs=io_tensor("X", dims="-1, 4")),
    words="model … '…' dimension must be integer >= 1, or -1 to indicate a variable-size dimension",
)
def tensor_dim_invalid(model: Model) -> Iterator[Finding]:
    for kind, index, tensor in tensors(model):
        paths: tuple[tuple[Sequence[int], tuple[str, ...]], ...] = (
            (tensor.dims, ("dims",)),
            (tensor.reshape.shape, ("reshape", "shape")),
        )
        for dims, path in paths:
            for axis, dim in enumerate(dims):
                if dim < 1 and dim != VARIABLE:
                    yield Finding(
                        model.at(kind, index, *path, axis),
                        f"{kind} '{tensor.name}' has a dimension of {dim}",
                        cure="write -1 for an axis of any length; dims do not include the batch axis",
                    )


@rule(
    "Only a model with batching can reshape a tensor to a scalar",
    bad=python_model(size=0, inputs=_SCALAR),
    good=python_model(size=8, inputs=_SCALAR),
    words="model … '…' cannot have empty reshape for non-batching model as scalar tensors are not supported",
)
def reshape_empty(model: Model) -> Iterator[Finding]:
    for kind, index, tensor in tensors(model):
        if tensor.HasField("reshape") and not tensor.reshape.shape and model.config.max_batch_size == 0:
            yield Finding(
                model.at(kind, index, "reshape"),
                f"{kind} '{tensor.name}' is reshaped to a scalar, and the model has no batching",
                cure="write shape: [ 1 ], or delete reshape",
            )


@rule(
    "dims and reshape have the same number of elements",
    bad=python_model(inputs=io_tensor("X", "FP32", "2, 3", "reshape { shape: [ 5 ] }")),
    good=python_model(inputs=io_tensor("X", "FP32", "2, 4, -1, 6", "reshape { shape: [ 8, -1, 6 ] }")),
    words="model … '…' has different size for dims and reshape",
)
def reshape_size_differs(model: Model) -> Iterator[Finding]:
    for kind, index, tensor in tensors(model):
        shape = list(tensor.reshape.shape)
        if not tensor.dims or not tensor.HasField("reshape") or (not shape and model.config.max_batch_size == 0):
            continue
        if any(dim < 1 and dim != VARIABLE for dim in (*tensor.dims, *shape)):
            continue
        if not reshapes(list(tensor.dims), shape):
            yield Finding(
                model.at(kind, index, "reshape", "shape"),
                f"{kind} '{tensor.name}' has dims {list(tensor.dims)} and is reshaped to {shape}",
                cure="make the products equal, also those of the parts between axes of variable size",
            )


def reshapes(dims: list[int], shape: list[int]) -> bool:
    """Whether core accepts ``shape`` as a reshape of ``dims``: [2, 4, -1, 6] and [8, -1, 1, 6] match."""
    count, new = element_count(dims), element_count(shape)
    if count != new and not (new == 0 and count == 1):
        return False
    return count != VARIABLE or _chunks(dims) == _chunks(shape)


def _chunks(dims: list[int]) -> list[int]:
    """Products of the parts that the variable axes leave."""
    products = [1]
    for dim in dims:
        if dim == VARIABLE:
            products.append(1)
        else:
            products[-1] *= dim
    return products


@rule(
    "Only inputs with three dims have FORMAT_NHWC or FORMAT_NCHW",
    source="core r24.10 model_config_utils.cc ValidateModelInput",
    bad=python_model(inputs='{ name: "X", data_type: TYPE_UINT8, format: FORMAT_NHWC, dims: [ 299, 299 ] }'),
    good=python_model(inputs='{ name: "X", data_type: TYPE_UINT8, format: FORMAT_NHWC, dims: [ 299, 299, 3 ] }'),
    words="model input NHWC/NCHW require 3 dims",
)
def format_needs_3_dims(model: Model) -> Iterator[Finding]:
    for index, tensor in enumerate(model.config.input):
        if tensor.format in (tensor.FORMAT_NHWC, tensor.FORMAT_NCHW) and len(tensor.dims) != 3 and tensor.dims:
            name = tensor.Format.Name(tensor.format)
            yield Finding(
                model.at("input", index, "format"),
                f"input '{tensor.name}' is {name} with {len(tensor.dims)} dims",
                cure="write three dims without the batch axis, or delete format",
            )


def _is_plan(model: Model) -> bool:
    backend = backend_of(model)
    return backend.platform == TENSORRT_PLATFORM or not (
        backend.name or model.is_ensemble
    )  # backend-missing reports it


@rule(
    "Only TensorRT models have shape tensors",
    source="core r24.10 model_config_utils.cc ValidateModelInput, ValidateModelOutput",
    bad=python_model(inputs=_SHAPE_TENSOR),
    good=plan_model(inputs=_SHAPE_TENSOR),
    good_loads=False,
    words="shape tensors are only supported for TensorRT platform",
)
def shape_tensor_without_tensorrt(model: Model) -> Iterator[Finding]:
    return _each(
        model,
        lambda tensor: tensor.is_shape_tensor and not _is_plan(model),
        "is_shape_tensor",
        "{kind} '{name}' is a shape tensor, and the model is not a TensorRT plan",
        "delete is_shape_tensor",
    )


@rule(
    "Only TensorRT models have non-linear formats",
    source="core r24.10 model_config_utils.cc ValidateNonLinearFormatIO",
    bad=python_model(inputs=_NON_LINEAR),
    good=plan_model(inputs=_NON_LINEAR),
    good_loads=False,
    words="Non-linear IO format is only supported for the TensorRT platform",
)
def non_linear_format_without_tensorrt(model: Model) -> Iterator[Finding]:
    return _each(
        model,
        lambda tensor: tensor.is_non_linear_format_io and not _is_plan(model),
        "is_non_linear_format_io",
        "{kind} '{name}' has a non-linear format, and the model is not a TensorRT plan",
        "delete is_non_linear_format_io",
    )


@rule(
    "A tensor of a non-linear format has three dims",
    source="core r24.10 model_config_utils.cc ValidateNonLinearFormatIO",
    bad=plan_model(inputs=io_tensor("X", "FP16", "8, 4", "is_non_linear_format_io: true")),
    good=plan_model(inputs=_NON_LINEAR),
    good_loads=False,
    words="Non-linear IO format … requires 3 dims",
)
def non_linear_format_needs_3_dims(model: Model) -> Iterator[Finding]:
    return _each(
        model,
        lambda tensor: tensor.is_non_linear_format_io and _is_plan(model) and len(tensor.dims) not in (0, 3),
        "dims",
        "{kind} '{name}' has a non-linear format and does not have three dims",
        "write three dims without the batch axis",
    )


@rule(
    "No two inputs share a name",
    source="core r24.10 model.cc Model::Init counts both, but a request can hold only one; measured on 2.51.0",
    bad=python_model(inputs=f"{X}, {io_tensor('X', 'INT64', '1')}"),
    good=python_model(inputs=f"{X}, {io_tensor('Z', 'INT64', '1')}"),
)
def input_name_twice(model: Model) -> Iterator[Finding]:
    return _twice(model, "input", "Triton loads the model and refuses every request: expected 2 inputs but got 1")


@rule(
    "No two outputs share a name",
    source="core r24.10 model.cc Model::Init: a map, which keeps only the first; measured on 2.51.0",
    severity=Severity.WARNING,
    bad=python_model(outputs=f"{Y}, {io_tensor('Y', 'INT64', '1')}"),
    good=python_model(outputs=f"{Y}, {io_tensor('Z', 'INT64', '1')}"),
)
def output_name_twice(model: Model) -> Iterator[Finding]:
    return _twice(model, "output", "Triton loads the model and keeps only the first of them")


def _twice(model: Model, kind: str, effect: str) -> Iterator[Finding]:
    for index, name in repeated(tensor.name for tensor in getattr(model.config, kind)):
        if name:
            message = f"there are two {kind}s called '{name}'"
            yield Finding(model.at(kind, index, "name"), message, effect, "give it another name, or delete it")
