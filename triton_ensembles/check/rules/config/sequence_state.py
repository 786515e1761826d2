"""States of sequence_batching and their initial values: core r24.10 sequence_batch_scheduler.cc Create."""

from collections.abc import Iterator, Sequence
from typing import Any

from triton_ensembles.check.backend import backend_of
from triton_ensembles.check.examples import IDENTITY, python_model
from triton_ensembles.check.fault import Finding, Place
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Example, Server, rule
from triton_ensembles.check.rules.config.tensors import ELEMENT_BYTES, element_count, repeated, type_name
from triton_ensembles.triton.model_config import DataType

SOURCE = "core r24.10 sequence_batch_scheduler.cc GenerateInitialStateData"
FOLDER = "initial_state"


def _state(initial: str, dims: str = "[ -1, 2 ]") -> str:
    state = f'input_name: "IN", output_name: "OUT", data_type: TYPE_FP32, dims: {dims}'
    return python_model(f"sequence_batching {{ state [ {{ {state}, {initial} }} ] }}")


_INITIAL = 'initial_state: {{ name: "zeros", data_type: {}, dims: [ {} ], {} }}'
GOOD = _state(_INITIAL.format("TYPE_FP32", "3, 2", "zero_data: true"))
_TWO_STATES = (
    'sequence_batching {{ state [ {{ input_name: "{0}", output_name: "OUT", data_type: TYPE_FP32, dims: [ 1 ], '
    'initial_state: {{ name: "a", data_type: TYPE_FP32, dims: [ 1 ], zero_data: true }} }}, '
    '{{ input_name: "{1}", output_name: "ALSO_OUT", data_type: TYPE_FP32, dims: [ 1 ], '
    'initial_state: {{ name: "b", data_type: TYPE_FP32, dims: [ 1 ], zero_data: true }} }} ] }}'
)


def _initial_states(model: Model) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    """(path, state, initial_state) of every state that has exactly one initial_state."""
    for index, state in enumerate(model.config.sequence_batching.state):
        path = ("sequence_batching", "state", index, "initial_state")
        if len(state.initial_state) == 1:
            yield (*path, 0), state, state.initial_state[0]


@rule(
    "A state has at most one initial_state",
    source="core r24.10 sequence_batch_scheduler.cc Create",
    bad=_state(" ".join([_INITIAL.format("TYPE_FP32", "3, 2", "zero_data: true")] * 2)),
    words="initial_state field for state input … must contain exactly one or zero element",
)
def initial_state_count(model: Model) -> Iterator[Finding]:
    for index, state in enumerate(model.config.sequence_batching.state):
        if len(state.initial_state) > 1:
            yield Finding(
                model.at("sequence_batching", "state", index, "initial_state", 1),
                f"state '{state.input_name}' has {len(state.initial_state)} initial states",
                cure="keep one of them",
            )


@rule(
    "A state has an input_name",
    source="core r24.10 sequence_state.cc; measured on tritonserver 2.51.0",
    bad=_state("", "[ 1 ]").replace('input_name: "IN", ', ""),
    good=_state("", "[ 1 ]"),
    server=Server.ACCEPTS,
)
def state_input_name_missing(model: Model) -> Iterator[Finding]:
    for index, state in enumerate(model.config.sequence_batching.state):
        if not state.input_name:
            yield Finding(
                model.at("sequence_batching", "state", index),
                "this state has no input_name",
                "Triton loads it, and the first request ends tritonserver",
                'write input_name: "…", the name under which the model reads the state',
            )


@rule(
    "A state of a Python model has a data_type",
    source="measured on tritonserver 2.51.0",
    bad=_state("", "[ 1 ]").replace("data_type: TYPE_FP32, dims: [ 1 ]", "dims: [ 1 ]"),
    good=_state("", "[ 1 ]"),
    server=Server.ACCEPTS,
)
def state_data_type_missing(model: Model) -> Iterator[Finding]:
    for index, state in enumerate(model.config.sequence_batching.state):
        if state.data_type == DataType.TYPE_INVALID and not state.initial_state and backend_of(model).name == "python":
            yield Finding(
                model.at("sequence_batching", "state", index),
                f"state '{state.input_name}' has no data_type",
                "Triton loads it, and the first request ends the process of the model: Stub process is not healthy",
                "write data_type: TYPE_FP32, or whatever type the state has",
            )


@rule(
    "A dimension of a state of a Python model is at least 0, or -1 for one of variable size",
    source="measured on tritonserver 2.51.0",
    bad=_state("", "[ -2 ]"),
    good=_state("", "[ -1 ]"),
    server=Server.ACCEPTS,
)
def state_dim_invalid(model: Model) -> Iterator[Finding]:
    for index, state in enumerate(model.config.sequence_batching.state):
        wrong = next((number for number, dim in enumerate(state.dims) if dim < -1), None)
        if wrong is not None and not state.initial_state and backend_of(model).name == "python":
            yield Finding(
                model.at("sequence_batching", "state", index, "dims", wrong),
                f"state '{state.input_name}' has a dimension of {state.dims[wrong]}",
                "Triton loads it, and the first request ends the process of the model: Stub process is not healthy",
                "write the size of this axis, or -1",
            )


@rule(
    "An input gets its initial state from only one state",
    bad=python_model(_TWO_STATES.format("IN", "IN")),
    good=python_model(_TWO_STATES.format("IN", "ALSO_IN")),
    words="State input name '…' specified more than once",
)
def initial_state_twice(model: Model) -> Iterator[Finding]:
    states = model.config.sequence_batching.state
    names = [state.input_name if len(state.initial_state) == 1 else "" for state in states]
    for index, name in repeated(names):
        if name:
            yield Finding(
                model.at("sequence_batching", "state", index, "input_name"),
                f"two states give the input '{name}' its initial value",
                cure="give each state its own input",
            )


@rule(
    "initial_state has the data_type of its state",
    bad=_state(_INITIAL.format("TYPE_INT32", "3, 2", "zero_data: true")),
    words="The data type used for 'initial_state' field of state '…' does not match the state data type",
)
def initial_state_data_type(model: Model) -> Iterator[Finding]:
    for path, state, initial in _initial_states(model):
        if initial.data_type != state.data_type:
            message = "initial_state and its state have different data_types"
            yield Finding(model.at(*path, "data_type"), message, cure="write the state's data_type")


@rule(
    "initial_state has a name",
    bad=_state(_INITIAL.format("TYPE_FP32", "3, 2", "zero_data: true").replace('name: "zeros", ', "")),
    words="Field 'name' must be set when using initial_state for state input '…'",
)
def initial_state_name_missing(model: Model) -> Iterator[Finding]:
    for path, _, initial in _initial_states(model):
        if not initial.name:
            yield Finding(model.at(*path, "name"), "initial_state has no name", cure='write name: "…"')


@rule(
    "initial_state has fixed dims that match its state's",
    bad=_state(_INITIAL.format("TYPE_FP32", "3, 5", "zero_data: true")),
    words="doesn't match 'state' dim description",
)
def initial_state_dims(model: Model) -> Iterator[Finding]:
    for path, state, initial in _initial_states(model):
        dims, wanted = list(initial.dims), list(state.dims)
        if len(dims) != len(wanted):
            words = "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions"
        elif -1 in dims:
            words = f"'initial_state' field for state input name '{state.input_name}' contains variable dimensions"
        elif any(want not in (-1, dim) for dim, want in zip(dims, wanted, strict=True)):
            words = f"'initial_state' dim for input name '{state.input_name}' doesn't match 'state' dim description"
        else:
            continue
        yield Finding(
            model.at(*path, "dims"),
            f"initial_state has dims {dims}, and its state {wanted}",
            f"Triton refuses it: {words}",
            "write a fixed dim for each of the state's",
        )


@rule(
    "initial_state has zero_data or a data_file",
    bad=_state('initial_state: { name: "zeros", data_type: TYPE_FP32, dims: [ 3, 2 ] }'),
    words="initial_state setting expects state'…' to have state_data set",
)
def initial_state_data_missing(model: Model) -> Iterator[Finding]:
    for path, _, initial in _initial_states(model):
        if initial.WhichOneof("state_data") is None:
            message = "initial_state has neither zero_data nor data_file"
            yield Finding(model.at(*path), message, cure="write zero_data: true")


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
    for path, _, initial in _initial_states(model):
        if initial.WhichOneof("state_data") == "data_file":
            place = model.at(*path, "data_file")
            yield from missing_or_short(model, place, FOLDER, initial.data_file, initial.data_type, initial.dims)


def missing_or_short(
    model: Model, place: Place, folder: str, name: str, data_type: int, dims: Sequence[int]
) -> Iterator[Finding]:
    """The fault of a file of raw data that ``place`` names: shared by initial states and warm-up samples."""
    path = f"{folder}/{name}"
    recipe = model.repository.recipe
    entry = model.get(path)
    # As triton/common counts them: text and unknown types as 4 bytes for each element.
    needed = ELEMENT_BYTES.get(type_name(data_type), 4) * element_count(dims)
    if entry is None or entry.is_folder:
        if not (recipe and recipe.makes(f"{model.folder}/{path}")):
            effect = f"Triton refuses it: failed to open text file for read {path}: No such file or directory"
            yield Finding(place, f"there is no file {path}", effect, f"put it into {model.folder}/{folder}/")
    elif entry.size < needed and data_type != DataType.TYPE_STRING:
        yield Finding(
            place,
            f"{path} has {entry.size} bytes, and the tensor needs {needed}",
            f"Triton refuses it: expects {needed} bytes, but the data provided from {name} only has {entry.size} bytes",
            "write a longer file",
        )
