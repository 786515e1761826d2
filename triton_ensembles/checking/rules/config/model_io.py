"""Inputs and outputs of a model: core r24.10 model_config_utils.cc ValidateModelIOConfig and what it calls."""

from collections.abc import Iterable, Iterator
from typing import Any

from triton_ensembles.checking.completed import CompletedModel, completed
from triton_ensembles.checking.config_tensors import VARIABLE, tensors
from triton_ensembles.checking.examples import COMPLETING, X, Y, io_tensor, plan_model, python_model
from triton_ensembles.checking.field_rule import Path, field_rule, namesakes
from triton_ensembles.checking.rule import Example, Finding, Model, Severity, note, rule, warning
from triton_ensembles.ground.spelling import listed
from triton_ensembles.triton.model_config import CONFIG, DataType
from triton_ensembles.triton.model_formats import PLAN

SOURCE = "core r24.10 model_config_utils.cc ValidateIOShape"
GOOD = python_model()
_SHAPE_TENSOR = io_tensor("X", "INT32", "1", "is_shape_tensor: true")
_SCALAR = io_tensor("X", "FP32", "1", "reshape { shape: [ ] }")


def _tensors(model: Model) -> Iterable[tuple[Path, Any]]:
    return (((kind, index), tensor) for kind, index, tensor in tensors(model))


def _of_tensorrt(model: Model) -> Iterator[tuple[Path, bool]]:
    """Yield the switches of tensors that other backends do not have."""
    for path, tensor in _tensors(model):
        for field in ("is_shape_tensor", "is_non_linear_format_io"):
            yield (*path, field), getattr(tensor, field)


def _is_plan(model: Model) -> bool:
    """Return whether it is a TensorRT plan, or its backend is not known, which backend-missing reports."""
    backend = model.backend
    return backend.platform == PLAN.platform or not (backend.name or model.is_ensemble)


@note(
    "Inputs and outputs that a config leaves out are those of the model's file",
    source="backends r24.10 AutoCompleteConfig; model.cc Model::Init validates the completed config",
    bad=Example(python_model(inputs='{ name: "X" }'), {"1/model.py": COMPLETING}),
    good=Example(python_model(), {"1/model.py": COMPLETING}),
    words="model … '…' must specify 'data_type'",
)
def config_completed(model: Model) -> Iterator[Finding]:
    is_read = isinstance(completed(model), CompletedModel)
    paths = model.left_out if model.has_config and not is_read else ()
    fields = list(dict.fromkeys(str(path[-1]) for path in paths if path != ("max_batch_size",)))
    if fields:
        message = f"this config leaves {listed(fields)} to the {model.backend.name} backend, so they are not checked"
        effect = "Triton completes the config by default; with --disable-auto-complete-config it refuses the model"
        cure = "write them; GET /v2/models/<name>/config of a running server prints the completed configuration"
        yield Finding(model.at(), message, effect, cure)


@rule(
    "A dimension is at least 1, or -1 for one of variable size",
    bad=python_model(inputs=io_tensor("X", dims="0, 4")),
    good=python_model(inputs=io_tensor("X", dims="-1, 4")),
    words="model … '…' dimension must be integer >= 1, or -1 to indicate a variable-size dimension",
)
def tensor_dim_invalid(model: Model) -> Iterator[Finding]:
    for kind, index, tensor in tensors(model):
        for dims, path in ((tensor.dims, ["dims"]), (tensor.reshape.shape, ["reshape", "shape"])):
            for axis, dim in enumerate(dims):
                if dim < 1 and dim != VARIABLE:
                    message = f"{kind} '{tensor.name}' has a dimension of {dim}"
                    cure = "write -1 for an axis of any length; dims do not include the batch axis"
                    yield Finding(model.at(kind, index, *path, axis), message, cure=cure)


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
        if _chunks(tensor.dims) != _chunks(shape):
            message = f"{kind} '{tensor.name}' has dims {list(tensor.dims)} and is reshaped to {shape}"
            cure = "make the products equal, also those of the parts between axes of variable size"
            yield Finding(model.at(kind, index, "reshape", "shape"), message, cure=cure)


def _chunks(dims: Iterable[int]) -> list[int]:
    """Products of the parts between variable axes, which a reshape keeps: [2, 4, -1, 6] and [8, -1, 1, 6] match."""
    products = [1]
    for dim in dims:
        if dim == VARIABLE:
            products.append(1)
        else:
            products[-1] *= dim
    return products


# That of pytorch refuses such a model: pytorch-tensors-missing.
_BACKENDS = ("python", "dali", "fil", "openvino")


@warning(
    "A model has inputs and outputs",
    source="core r24.10 infer_request.cc Normalize; python_backend r24.10; measured on 2.51.0",
    bad=python_model(inputs=""),
)
def tensors_missing(model: Model) -> Iterator[Finding]:
    entry = model.get(CONFIG)
    if entry is None or entry.data is None or model.file.faults:  # what seems to be missing may be there
        return
    if model.is_ensemble or model.backend.name not in _BACKENDS:
        return
    missing = [kind for kind in ("input", "output") if not getattr(model.config, kind)]
    if missing:
        refuses = "refuses every request with an input: expected 0 inputs"
        effect = f"Triton loads it, and {refuses if 'input' in missing else 'answers without any output'}"
        cure = f'write {missing[0]} [ {{ name: "…", data_type: TYPE_…, dims: [ … ] }} ]'
        yield Finding(model.at(), f"this config.pbtxt has no {' and no '.join(missing)}", effect, cure)


# fmt: off
field_rule("input-name-twice", "No two inputs share a name",
           source="core r24.10 model.cc Model::Init counts both, but a request can hold only one; measured on 2.51.0",
           at=(namesakes("input"), "name"), when=lambda name: name,
           says="there are two inputs called '{item}'", cure="give it another name, or delete it",
           effect="Triton loads the model and refuses every request: expected 2 inputs but got 1",
           bad=python_model(inputs=f"{X}, {io_tensor('X', 'INT64', '1')}"),
           good=python_model(inputs=f"{X}, {io_tensor('Z', 'INT64', '1')}"))

field_rule("output-name-twice", "No two outputs share a name",
           source="core r24.10 model.cc Model::Init: a map, which keeps only the first; measured on 2.51.0",
           severity=Severity.WARNING,
           at=(namesakes("output"), "name"), when=lambda name: name,
           says="there are two outputs called '{item}'", cure="give it another name, or delete it",
           effect="Triton loads the model and keeps only the first of them",
           bad=python_model(outputs=f"{Y}, {io_tensor('Y', 'INT64', '1')}"),
           good=python_model(outputs=f"{Y}, {io_tensor('Z', 'INT64', '1')}"))

field_rule("tensor-name-missing", "Every input and output has a name",
           at=(_tensors, "name"), when=lambda tensor: not tensor.name,
           says="{path[0]} {name} has no name", cure='write name: "…"',
           bad=python_model(inputs="{ data_type: TYPE_FP32, dims: [ 4 ] }"), words="model … must specify 'name'")

field_rule("tensor-data-type-missing", "Every input and output has a data_type",
           # Of one that has nothing at all, tensor-name-missing says enough.
           at=(_tensors, "data_type"),
           when=lambda tensor: tensor.data_type == DataType.TYPE_INVALID and (tensor.name or tensor.dims),
           says="{path[0]} '{name}' has no data_type", cure="write data_type: TYPE_…, such as TYPE_FP32",
           bad=python_model(inputs='{ name: "X", dims: [ 4 ] }'), words="model … '…' must specify 'data_type'")

field_rule("tensor-dims-missing", "Every input and output has dims",
           at=(_tensors, "dims"), when=lambda tensor: not tensor.dims and (tensor.name or tensor.data_type),
           says="{path[0]} '{name}' has no dims",
           cure="write dims: [ … ] without the batch axis; [ 1 ] for one value",
           bad=python_model(inputs='{ name: "X", data_type: TYPE_FP32 }'),
           good=python_model(inputs=io_tensor("X", dims="1")), words="model … '…' must specify 'dims'")

field_rule("format-needs-3-dims", "Only inputs with three dims have FORMAT_NHWC or FORMAT_NCHW",
           source="core r24.10 model_config_utils.cc ValidateModelInput",
           at=("input", "format"),
           when=lambda tensor: len(tensor.dims) not in (0, 3) and (
               tensor.format in (tensor.FORMAT_NHWC, tensor.FORMAT_NCHW) and
               f"{tensor.Format.Name(tensor.format)} with {len(tensor.dims)} dims"),
           says="input '{item.name}' is {wrong}", cure="write three dims without the batch axis, or delete format",
           bad=python_model(inputs='{ name: "X", data_type: TYPE_UINT8, format: FORMAT_NHWC, dims: [ 299, 299 ] }'),
           good=python_model(inputs='{ name: "X", data_type: TYPE_UINT8, format: FORMAT_NHWC, dims: [ 299, 299, 3 ] }'),
           words="model input NHWC/NCHW require 3 dims")

field_rule("tensor-without-tensorrt", "Only TensorRT models have shape tensors and non-linear formats",
           source="core r24.10 model_config_utils.cc ValidateModelInput, …Output, ValidateNonLinearFormatIO",
           models=lambda model: not _is_plan(model), at=(_of_tensorrt, ""), when=lambda is_set: is_set,
           says="this {path[0]} has {name}, and the model is not a TensorRT plan", cure="delete {name}",
           bad=python_model(inputs=_SHAPE_TENSOR), good=plan_model(inputs=_SHAPE_TENSOR), good_loads=False,
           words="supported for …TensorRT platform")

field_rule("reshape-empty", "Only a model with batching can reshape a tensor to a scalar",
           models=lambda model: model.config.max_batch_size == 0, at=(_tensors, "reshape"),
           when=lambda tensor: tensor.HasField("reshape") and not tensor.reshape.shape,
           says="{path[0]} '{item.name}' is reshaped to a scalar, and the model has no batching",
           cure="write shape: [ 1 ], or delete reshape",
           bad=python_model(size=0, inputs=_SCALAR), good=python_model(size=8, inputs=_SCALAR),
           words="model … '…' cannot have empty reshape for non-batching model as scalar tensors are not supported")
