"""States of sequence_batching and their initial values: core r24.10 sequence_batch_scheduler.cc Create."""

from collections.abc import Iterable, Iterator
from typing import Any

from triton_ensembles.checking.config_tensors import missing_or_short
from triton_ensembles.checking.examples import IDENTITY, ONNX_IDENTITY, python_model
from triton_ensembles.checking.field_rule import Path, field_rule, items
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, rule
from triton_ensembles.triton.model_config import DataType
from triton_ensembles.triton.targets import CPU

SOURCE = "core r24.10 sequence_batch_scheduler.cc GenerateInitialStateData"
FOLDER = "initial_state"
_UNHEALTHY = "Triton loads it, and the first request ends the process of the model: Stub process is not healthy"


def _state(initial: str, dims: str = "[ -1, 2 ]") -> str:
    state = f'input_name: "IN", output_name: "OUT", data_type: TYPE_FP32, dims: {dims}'
    return python_model(f"sequence_batching {{ state [ {{ {state}, {initial} }} ] }}")


_INITIAL = 'initial_state: {{ name: "zeros", data_type: {}, dims: [ {} ], {} }}'
GOOD = _state(_INITIAL.format("TYPE_FP32", "3, 2", "zero_data: true"))
_STATEFUL = python_model(
    'sequence_batching { state [ { input_name: "S", output_name: "T", data_type: TYPE_FP32, dims: [ 1 ] } ] }',
    backend='backend: "onnxruntime"',
)


def _pairs(model: Model) -> Iterator[tuple[Path, tuple[Any, Any]]]:
    """The path, and (state, initial_state), of every state that has exactly one initial_state."""
    for path, state in items("sequence_batching.state")(model):
        if len(state.initial_state) == 1:
            yield (*path, "initial_state", 0), (state, state.initial_state[0])


def _initial_states(model: Model) -> Iterable[tuple[Path, Any]]:
    return ((path, initial) for path, (_, initial) in _pairs(model))


def _python_states(model: Model) -> Iterator[tuple[Path, Any]]:
    """The states of a Python model that have no initial_state."""
    for path, state in items("sequence_batching.state")(model):
        if not state.initial_state and model.is_python:
            yield path, state


@rule(
    "A model for this project's server has no implicit state",
    source="python_backend r24.10 has no call of TRITONBACKEND_StateNew, by which a backend gives a state back",
    bad=Example(_STATEFUL, {"1/model.onnx": ONNX_IDENTITY}),
    words="sequence_batching has the implicit state",
    destination=Destination(device="cpu"),
)
def state_on_cpu(model: Model, destination: Destination) -> Iterator[Finding]:
    if destination.device == "cpu" and not model.is_python and model.backend.name in CPU.backends:
        for path, state in items("sequence_batching.state")(model):
            message = f"{CPU.server} cannot keep the implicit state '{state.input_name}': only NVIDIA's engines can"
            cure = (
                "keep it in the model.py of a step, which passes it on as an input and an output, or use --target gpu"
            )
            yield Finding(model.at(*path), message, cure=cure)
            return


@rule(
    "initial_state has fixed dims that match its state's",
    bad=_state(_INITIAL.format("TYPE_FP32", "3, 5", "zero_data: true")),
    words="doesn't match 'state' dim description",
)
def initial_state_dims(model: Model) -> Iterator[Finding]:
    for path, (state, initial) in _pairs(model):
        dims, state_dims = list(initial.dims), list(state.dims)
        if len(dims) != len(state_dims):
            words = "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions"
        elif -1 in dims:
            words = f"'initial_state' field for state input name '{state.input_name}' contains variable dimensions"
        elif any(want not in (-1, dim) for dim, want in zip(dims, state_dims, strict=True)):
            words = f"'initial_state' dim for input name '{state.input_name}' doesn't match 'state' dim description"
        else:
            continue
        message = f"initial_state has dims {dims}, and its state {state_dims}"
        effect = f"Triton refuses it: {words}"
        yield Finding(model.at(*path, "dims"), message, effect, "write a fixed dim for each of the state's")


@rule(
    "The data_file of an initial_state exists and is long enough",
    bad=Example(_state(_INITIAL.format("TYPE_FP32", "3, 2", 'data_file: "start"')), {"1/model.py": IDENTITY}),
    good=Example(
        _state(_INITIAL.format("TYPE_FP32", "3, 2", 'data_file: "start"')),
        {"1/model.py": IDENTITY, "initial_state/start": "123456781234567812345678"},
    ),
    words="failed to open text file for read",
)
def initial_state_file(model: Model) -> Iterator[Finding]:
    for path, initial in _initial_states(model):
        if initial.WhichOneof("state_data") == "data_file":
            place = model.at(*path, "data_file")
            yield from missing_or_short(model, place, FOLDER, initial.data_file, initial.data_type, initial.dims)


# fmt: off
field_rule("state-input-name-missing", "A state has an input_name",
           source="core r24.10 sequence_state.cc; measured on tritonserver 2.51.0",
           at=("sequence_batching.state", ""), when=lambda state: not state.input_name,
           says="this state has no input_name",
           effect="Triton loads it, and the first request ends tritonserver",
           cure='write input_name: "…", the name under which the model reads the state',
           bad=_state("", "[ 1 ]").replace('input_name: "IN", ', ""), good=_state("", "[ 1 ]"))

field_rule("state-data-type-missing", "A state of a Python model has a data_type",
           source="measured on tritonserver 2.51.0",
           at=(_python_states, ""), when=lambda state: state.data_type == DataType.TYPE_INVALID,
           says="state '{item.input_name}' has no data_type", effect=_UNHEALTHY,
           cure="write data_type: TYPE_FP32, or whatever type the state has",
           bad=_state("", "[ 1 ]").replace("data_type: TYPE_FP32, dims: [ 1 ]", "dims: [ 1 ]"),
           good=_state("", "[ 1 ]"))

field_rule("initial-state-data-missing", "initial_state has zero_data or a data_file",
           at=(_initial_states, ""), when=lambda initial: initial.WhichOneof("state_data") is None,
           says="initial_state has neither zero_data nor data_file", cure="write zero_data: true",
           bad=_state('initial_state: { name: "zeros", data_type: TYPE_FP32, dims: [ 3, 2 ] }'),
           words="initial_state setting expects state'…' to have state_data set")

field_rule("initial-state-data-type", "initial_state has the data_type of its state",
           at=(_pairs, "data_type"), when=lambda pair: pair[1].data_type != pair[0].data_type,
           says="initial_state and its state have different data_types", cure="write the state's data_type",
           bad=_state(_INITIAL.format("TYPE_INT32", "3, 2", "zero_data: true")),
           words="The data type used for 'initial_state' field of state '…' does not match the state data type")
