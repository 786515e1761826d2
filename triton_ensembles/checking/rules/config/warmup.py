"""model_warmup: core r24.10 backend_model_instance.cc GenerateWarmupData, and the checks of every request."""

from collections.abc import Iterator
from typing import Any

from triton_ensembles.checking.config_tensors import missing_or_short, same_shape, sequence_inputs, type_name
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.field_rule import Path, field_rule
from triton_ensembles.checking.rule import Example, Finding, Model, rule
from triton_ensembles.ground.spelling import listed, suggestion

SOURCE = "core r24.10 backend_model_instance.cc GenerateWarmupData"
REQUEST = "core r24.10 infer_request.cc Normalize, which warm-up requests also pass"
FOLDER = "warmup"


def _warmup(value: str, size: int = 1) -> str:
    sample = f'name: "first", batch_size: {size}, inputs {{ key: "X", value {{ {value} }} }}'
    return python_model(f"model_warmup [ {{ {sample} }} ]")


_ZEROS = "data_type: TYPE_FP32, dims: [ 4 ], zero_data: true"
GOOD = _warmup(_ZEROS)


def _samples(model: Model) -> Iterator[tuple[Path, Any]]:
    """(path, ModelWarmup) of the samples that are run: those with a batch_size of 0 are skipped."""
    if model.config.HasField("ensemble_scheduling"):
        return
    for index, sample in enumerate(model.config.model_warmup):
        if sample.batch_size:
            yield ("model_warmup", index), sample


def _inputs(model: Model) -> Iterator[tuple[Path, Any]]:
    """(path, ModelWarmup.Input) of every input of the samples that are run; the path ends with its name."""
    for path, sample in _samples(model):
        for name in sorted(sample.inputs):
            yield (*path, "inputs", name), sample.inputs[name]


@rule(
    "The input_data_file of a warm-up exists and is long enough",
    bad=_warmup('data_type: TYPE_FP32, dims: [ 4 ], input_data_file: "sample"'),
    good=Example(
        _warmup('data_type: TYPE_FP32, dims: [ 4 ], input_data_file: "sample"'),
        {"1/model.py": IDENTITY, "warmup/sample": "1234567812345678"},
    ),
    words="failed to open text file for read",
)
def warmup_file(model: Model) -> Iterator[Finding]:
    for path, tensor in _inputs(model):
        if tensor.WhichOneof("input_data_type") == "input_data_file" and -1 not in tensor.dims:
            place = model.at(*path, "value", "input_data_file")
            yield from missing_or_short(model, place, FOLDER, tensor.input_data_file, tensor.data_type, tensor.dims)


@rule(
    "A warm-up input has the data_type and the dims of the model's input",
    source=REQUEST,
    bad=_warmup("data_type: TYPE_FP32, dims: [ 5 ], zero_data: true"),
    words="unexpected shape for input '…'",
)
def warmup_input_differs(model: Model) -> Iterator[Finding]:
    inputs = {tensor.name: tensor for tensor in model.config.input}
    for path, tensor in _inputs(model):
        name = str(path[-1])
        declared = inputs.get(name)
        if declared is None:
            continue
        dims, allowed = list(tensor.dims), list(declared.dims)
        if tensor.data_type != declared.data_type:
            written, expected = type_name(tensor.data_type), type_name(declared.data_type)
            message = f"the warm-up input '{name}' is {written}, and the model's is {expected}"
            effect = (
                f"Triton refuses it: inference input '{name}' data-type differs from what model '{model.name}' expects"
            )
            yield Finding(model.at(*path, "value", "data_type"), message, effect, f"write data_type: {expected}")
        elif -1 not in dims and not same_shape(dims, allowed):
            message = f"the warm-up input '{name}' has dims {dims}, and the model's has {allowed}"
            effect = f"Triton refuses it: unexpected shape for input '{name}' for model '{model.name}'"
            cure = "write the dims of the model's input, without the batch axis and with numbers for -1"
            yield Finding(model.at(*path, "value", "dims"), message, effect, cure)


@rule(
    "A warm-up sample has every input that is not optional",
    source=REQUEST,
    bad=python_model('model_warmup [ { name: "first", batch_size: 1 } ]'),
    words="missing required input(s) …",
)
def warmup_inputs_missing(model: Model) -> Iterator[Finding]:
    inputs = {tensor.name for tensor in model.config.input} | sequence_inputs(model)
    required = [tensor.name for tensor in model.config.input if not tensor.optional]
    for path, sample in _samples(model):
        missing = [name for name in required if name not in sample.inputs]
        other = next((name for name in sorted(sample.inputs) if name not in inputs), None) if missing else None
        if other is not None:
            message = f"the warm-up sample '{sample.name}' has an input '{other}', and the model has none of this name"
            cure = suggestion(other, missing) or f"it has {listed(inputs)}"
            yield Finding(model.at(*path, "inputs", other), message, cure=cure)
        elif missing:
            message = f"the warm-up sample '{sample.name}' lacks the input {listed(missing)}"
            cure = f'write inputs {{ key: "{missing[0]}", value {{ … }} }}'
            yield Finding(model.at(*path), message, cure=cure)


@rule(
    "A warm-up sample is no larger than max_batch_size",
    source="backends r24.10: the python backend refuses larger batches; measured on 2.51.0",
    bad=_warmup(_ZEROS, size=9),
    good=_warmup(_ZEROS, size=8),
    words="batch size …",
)
def warmup_batch_size(model: Model) -> Iterator[Finding]:
    most = max(model.config.max_batch_size, 1)
    for path, sample in _samples(model):
        if sample.batch_size > most:
            message = (
                f"the warm-up sample '{sample.name}' has batch_size {sample.batch_size}, and the model accepts {most}"
            )
            effect = f"the load fails, or 2.51.0 crashes: batch size {sample.batch_size}, max allowed is {most}"
            yield Finding(model.at(*path, "batch_size"), message, effect, f"write batch_size: {most}")


# fmt: off
field_rule("warmup-data-missing", "A warm-up input has zero_data, random_data or input_data_file",
           at=(_inputs, ""), when=lambda tensor: tensor.WhichOneof("input_data_type") is None,
           says="the warm-up input '{name}' has no data", cure="write random_data: true",
           bad=_warmup("data_type: TYPE_FP32, dims: [ 4 ]"),
           words="warmup setting expects input '…' to have input_data_type set")

field_rule("warmup-dims-variable", "A warm-up input has fixed dims",
           at=(_inputs, "value.dims"), when=lambda tensor: -1 in tensor.dims,
           says="the warm-up input '{name}' has a dimension of -1",
           cure="write the length that requests usually have",
           bad=_warmup("data_type: TYPE_FP32, dims: [ -1 ], zero_data: true"),
           words="warmup setting expects all variable-size dimensions are specified for input '…'")
