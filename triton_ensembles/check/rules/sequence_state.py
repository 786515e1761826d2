"""States of sequence_batching and their initial values: core r24.10 sequence_batch_scheduler.cc Create."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from triton_ensembles.check.examples import IDENTITY, python_model
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Example, Rule, rule
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import DataType

SOURCE = "core r24.10 sequence_batch_scheduler.cc GenerateInitialStateData"
FOLDER = "initial_state"
Said = Iterator[tuple[str, str, str, str]]


def _state(initial: str, dims: str = "[ -1, 2 ]") -> str:
    state = f'input_name: "IN", output_name: "OUT", data_type: TYPE_FP32, dims: {dims}'
    return python_model(f"sequence_batching {{ state [ {{ {state}, {initial} }} ] }}")


_INITIAL = 'initial_state: {{ name: "zeros", data_type: {}, dims: [ {} ], {} }}'
_GOOD = _state(_INITIAL.format("TYPE_FP32", "3, 2", "zero_data: true"))
_TWO_STATES = (
    'sequence_batching {{ state [ {{ input_name: "{0}", output_name: "OUT", data_type: TYPE_FP32, dims: [ 1 ], '
    'initial_state: {{ name: "a", data_type: TYPE_FP32, dims: [ 1 ], zero_data: true }} }}, '
    '{{ input_name: "{1}", output_name: "ALSO_OUT", data_type: TYPE_FP32, dims: [ 1 ], '
    'initial_state: {{ name: "b", data_type: TYPE_FP32, dims: [ 1 ], zero_data: true }} }} ] }}'
)
_WIDTHS = {
    "TYPE_BOOL": 1, "TYPE_UINT8": 1, "TYPE_INT8": 1, "TYPE_UINT16": 2, "TYPE_INT16": 2, "TYPE_FP16": 2, "TYPE_BF16": 2,
    "TYPE_UINT32": 4, "TYPE_INT32": 4, "TYPE_FP32": 4, "TYPE_UINT64": 8, "TYPE_INT64": 8, "TYPE_FP64": 8,
}  # fmt: skip


def byte_size(data_type: int, dims: list[int]) -> int:
    """Bytes of a tensor, as triton/common counts them; text and unknown types as 4 for each element."""
    name = DataType.Name(data_type) if data_type in DataType.values() else ""
    return _WIDTHS.get(name, 4) * (math.prod(dims) if dims else 0)


def _rule(id: str, title: str, bad: str | Example, words: str, good: str | Example = _GOOD) -> Callable[[Any], Rule]:
    """Make a rule of a function that looks at one state with one initial_state.

    The function yields (field of initial_state, message, Triton's words, cure).
    """

    def make(look: Callable[[Model, Any, Any], Said]) -> Rule:
        def find(model: Model, target: Destination) -> Iterator[Finding]:
            for index, state in enumerate(model.config.sequence_batching.state):
                path = ("sequence_batching", "state", index, "initial_state")
                if len(state.initial_state) == 1 and not model.is_damaged(*path):
                    for field, message, effect, cure in look(model, state, state.initial_state[0]):
                        yield Finding(model.at(*path, 0, field), message, f"Triton refuses it: {effect}", cure)

        return rule(id, title, source=SOURCE, bad=bad, good=good, words=words)(find)

    return make


@rule(
    "initial-state-count",
    "A state has one initial_state at most",
    source="core r24.10 sequence_batch_scheduler.cc Create",
    bad=_state(" ".join([_INITIAL.format("TYPE_FP32", "3, 2", "zero_data: true")] * 2)),
    good=_GOOD,
    words="must contain exactly one or zero element",
)
def initial_state_count(model: Model, target: Destination) -> Iterator[Finding]:
    for index, state in enumerate(model.config.sequence_batching.state):
        if len(state.initial_state) > 1:
            yield Finding(
                model.at("sequence_batching", "state", index, "initial_state", 1),
                f"state '{state.input_name}' has {len(state.initial_state)} initial states",
                "Triton refuses it: initial_state field for state input must contain exactly one or zero element",
                "keep one of them",
            )


@rule(
    "initial-state-twice",
    "An input has its initial state from one state only",
    source=SOURCE,
    bad=python_model(_TWO_STATES.format("IN", "IN")),
    good=python_model(_TWO_STATES.format("IN", "ALSO_IN")),
    words="specified more than once",
)
def initial_state_twice(model: Model, target: Destination) -> Iterator[Finding]:
    states = model.config.sequence_batching.state
    names = [state.input_name if len(state.initial_state) == 1 else "" for state in states]
    for index, name in enumerate(names):
        if name and name in names[:index]:
            yield Finding(
                model.at("sequence_batching", "state", index, "input_name"),
                f"two states give the input '{name}' its initial value",
                f"Triton refuses it: State input name '{name}' specified more than once",
                "give each state an input of its own",
            )


@_rule(
    "initial-state-data-type",
    "initial_state has the data_type of its state",
    _state(_INITIAL.format("TYPE_INT32", "3, 2", "zero_data: true")),
    "does not match the state data type",
)
def initial_state_data_type(model: Model, state: Any, initial: Any) -> Said:
    if initial.data_type != state.data_type:
        words = f"The data type used for 'initial_state' field of state '{state.input_name}' does not match the state"
        yield "data_type", "initial_state has another data_type than its state", words, "write the state's data_type"


@_rule(
    "initial-state-name-missing",
    "initial_state has a name",
    _state(_INITIAL.format("TYPE_FP32", "3, 2", "zero_data: true").replace('name: "zeros", ', "")),
    "Field 'name' must be set when using initial_state",
)
def initial_state_name(model: Model, state: Any, initial: Any) -> Said:
    if not initial.name:
        words = f"Field 'name' must be set when using initial_state for state input '{state.input_name}'"
        yield "name", "initial_state has no name", words, 'write name: "…"'


@_rule(
    "initial-state-dims",
    "initial_state has fixed dims that fit its state's",
    _state(_INITIAL.format("TYPE_FP32", "3, 5", "zero_data: true")),
    "doesn't match 'state' dim description",
)
def initial_state_dims(model: Model, state: Any, initial: Any) -> Said:
    dims, wanted = list(initial.dims), list(state.dims)
    if len(dims) != len(wanted):
        words = "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions"
    elif -1 in dims:
        words = f"'initial_state' field for state input name '{state.input_name}' contains variable dimensions"
    elif any(want not in (-1, dim) for dim, want in zip(dims, wanted, strict=True)):
        words = f"'initial_state' dim for input name '{state.input_name}' doesn't match 'state' dim description"
    else:
        return
    yield (
        "dims",
        f"initial_state has dims {dims}, its state {wanted}",
        words,
        "write a fixed dim for each of the state's",
    )


@_rule(
    "initial-state-data-missing",
    "initial_state has zero_data or a data_file",
    _state('initial_state: { name: "zeros", data_type: TYPE_FP32, dims: [ 3, 2 ] }'),
    "to have state_data set",
)
def initial_state_data(model: Model, state: Any, initial: Any) -> Said:
    if initial.WhichOneof("state_data") is None:
        words = f"initial_state setting expects state'{state.input_name}' to have state_data set"
        yield "", "initial_state says neither zero_data nor data_file", words, "write zero_data: true"


@_rule(
    "initial-state-file",
    "The data_file of an initial_state is there and long enough",
    Example(_state(_INITIAL.format("TYPE_FP32", "3, 2", 'data_file: "start"')), {"1/model.py": IDENTITY}),
    "failed to open text file for read",
    Example(
        _state(_INITIAL.format("TYPE_FP32", "3, 2", 'data_file: "start"')),
        {"1/model.py": IDENTITY, "initial_state/start": "123456781234567812345678"},
    ),
)
def initial_state_file(model: Model, state: Any, initial: Any) -> Said:
    if initial.WhichOneof("state_data") == "data_file":
        yield from missing_or_short(model, FOLDER, initial.data_file, "data_file", initial.data_type, initial.dims)


def missing_or_short(model: Model, folder: str, name: str, field: str, data_type: int, dims: Any) -> Said:
    """What is wrong with a file of raw data: shared by initial states and warm-up samples."""
    path = f"{folder}/{name}"
    recipe = model.repository.recipe
    entry = model.get(path)
    needed = byte_size(data_type, list(dims))
    if entry is None or entry.is_folder:
        if not (recipe and recipe.makes(f"{model.folder}/{path}")):
            words = f"failed to open text file for read {path}: No such file or directory"
            yield field, f"there is no file {path}", words, f"put it into {model.folder}/{folder}/"
    elif entry.size < needed and data_type != DataType.TYPE_STRING:
        words = f"expects {needed} bytes, but the data provided from {name} only has {entry.size} bytes"
        yield field, f"{path} has {entry.size} bytes, the tensor {needed}", words, "make the file as long as the tensor"


RULES = (
    initial_state_count,
    initial_state_twice,
    initial_state_data_type,
    initial_state_name,
    initial_state_dims,
    initial_state_data,
    initial_state_file,
)
