"""sequence_batching: its controls, and the states that it keeps with their initial values.

Sources: core r24.10 model_config_utils.cc ValidateModelConfig and its Get…Properties; sequence_batch_scheduler.cc.
"""

from collections.abc import Iterator
from typing import Any

from triton_ensembles.checking.config_tensors import VARIABLE, missing_or_short, same_shape, type_name
from triton_ensembles.checking.examples import IDENTITY, ONNX_IDENTITY, python_model
from triton_ensembles.checking.field_rule import Path, field_rule, items
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, rule
from triton_ensembles.triton.model_config import DataType
from triton_ensembles.triton.targets import CPU

SOURCE = "core r24.10 sequence_batch_scheduler.cc GenerateInitialStateData"
_OF_CONTROLS = (
    "core r24.10 model_config_utils.cc GetBooleanSequenceControlProperties, GetTypedSequenceControlProperties"
)
_VALUES = ("int32_false_true", "fp32_false_true", "bool_false_true")
_CORRID_TYPES = ("TYPE_UINT64", "TYPE_INT64", "TYPE_UINT32", "TYPE_INT32", "TYPE_STRING")


def _sequence(inner: str) -> str:
    return python_model(f"sequence_batching {{ {inner} }}")


def _control(*controls: str, name: str = 'name: "START"') -> str:
    return f"control_input [ {{ {name}, control [ {', '.join(controls)} ] }} ]".replace("{ ,", "{")


_START = "{ kind: CONTROL_SEQUENCE_START, fp32_false_true: [ 0, 1 ] }"
_GOOD = _sequence(_control(_START))
_CORRID = "{ kind: CONTROL_SEQUENCE_CORRID, data_type: TYPE_UINT64 }"


def _controls(model: Model) -> Iterator[tuple[Path, Any]]:
    for number, tensor in enumerate(model.config.sequence_batching.control_input):
        for index, control in enumerate(tensor.control):
            yield ("sequence_batching", "control_input", number, "control", index), control


def _correlation_ids(model: Model) -> Iterator[tuple[Path, Any]]:
    return (item for item in _controls(model) if item[1].kind == item[1].CONTROL_SEQUENCE_CORRID)


@rule(
    "A control has one list of two values, for false and for true",
    source=_OF_CONTROLS,
    good=_GOOD,
    bad=_sequence(_control("{ kind: CONTROL_SEQUENCE_START, fp32_false_true: [ 1 ] }")),
    words="must have exactly 2 entries",
)
def sequence_control_values(model: Model) -> Iterator[Finding]:
    for path, control in _controls(model):
        values = [name for name in _VALUES if len(getattr(control, name))]
        if control.kind not in (0, 1, 2):  # START, READY, END: the true-or-false kinds
            continue
        kind = control.Kind.Name(control.kind)
        if len(values) == 1 and len(getattr(control, values[0])) == 2:
            continue
        if not values:
            message, words = f"{kind} has no values", f"must specify either 'int32_false_true', … for {kind}"
        elif len(values) > 1:
            message, words = f"{kind} has values of several types", "specifies more than one from 'int32_false_true', …"
        else:
            count = len(getattr(control, values[0]))
            message = f"{kind} has {count} value" + ("s" if count != 1 else "")
            words = f"control '{values[0]}' must have exactly 2 entries for {kind}"
        place = model.at(*path, values[-1] if values else "kind")
        cure = f"write {values[0] if values else 'int32_false_true'}: [ 0, 1 ]"
        yield Finding(place, message, f"Triton refuses it: sequence batching {words} for {model.name}", cure)


_UNHEALTHY = "Triton loads it, and the first request ends the process of the model: Stub process is not healthy"


def _state(initial: str, dims: str = "[ -1, 2 ]") -> str:
    state = f'input_name: "IN", output_name: "OUT", data_type: TYPE_FP32, dims: {dims}'
    return python_model(f"sequence_batching {{ state [ {{ {state}, {initial} }} ] }}")


_INITIAL = 'initial_state: {{ name: "zeros", data_type: {}, dims: [ {} ], {} }}'
_GOOD_STATE = _state(_INITIAL.format("TYPE_FP32", "3, 2", "zero_data: true"))
_STATEFUL = python_model(
    'sequence_batching { state [ { input_name: "S", output_name: "T", data_type: TYPE_FP32, dims: [ 1 ] } ] }',
    backend='backend: "onnxruntime"',
)


def _python_states(model: Model) -> Iterator[tuple[Path, Any]]:
    """The states of a Python model that have no initial_state."""
    for path, state in items("sequence_batching.state")(model):
        if not state.initial_state and model.is_python:
            yield path, state


@rule(
    "A model for this project's server has no implicit state",
    good=_GOOD_STATE,
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
    "The data_file of an initial_state exists and is long enough",
    bad=Example(_state(_INITIAL.format("TYPE_FP32", "3, 2", 'data_file: "start"')), {"1/model.py": IDENTITY}),
    good=Example(
        _state(_INITIAL.format("TYPE_FP32", "3, 2", 'data_file: "start"')),
        {"1/model.py": IDENTITY, "initial_state/start": "123456781234567812345678"},
    ),
    words="failed to open text file for read",
)
def initial_state_file(model: Model) -> Iterator[Finding]:
    for path, state in items("sequence_batching.state")(model):
        initial = state.initial_state[0] if len(state.initial_state) == 1 else None
        if initial and initial.WhichOneof("state_data") == "data_file":
            place = model.at(*path, "initial_state", 0, "data_file")
            yield from missing_or_short(
                model, place, "initial_state", initial.data_file, initial.data_type, initial.dims
            )


def _initial_states(model: Model) -> Iterator[tuple[Path, tuple[Any, Any]]]:
    """Yield each initial_state with its state."""
    for path, state in items("sequence_batching.state")(model):
        for index, initial in enumerate(state.initial_state):
            yield (*path, "initial_state", index), (state, initial)


def _difference(state: Any, initial: Any) -> str:
    if initial.data_type != state.data_type:
        return "is of another data_type than its state"
    if VARIABLE in initial.dims or not same_shape(initial.dims, state.dims):
        return "has other dims than its state, or a variable one"
    return "" if initial.name else "has no name"


# fmt: off
field_rule("initial-state-differs", "An initial_state has a name, and the data_type and the dims of its state",
           at=(_initial_states, ""), when=lambda pair: _difference(*pair),
           says="this initial_state {wrong}", cure="write a name, and what the state has, with a number for each -1",
           effect="Triton does not load the model", bad=_state(_INITIAL.format("TYPE_FP64", "3, 2", "zero_data: true")),
           good=_GOOD_STATE, words="'initial_state' field of state '…' does not match the state data type")

field_rule("sequence-control-name-missing", "Every control_input has a name", source=_OF_CONTROLS, good=_GOOD,
           at=("sequence_batching.control_input", ""), when=lambda tensor: not tensor.name,
           says="control_input {path[2]} has no name", cure='write name: "…"',
           bad=_sequence(_control(_START, name="")), words="sequence batching control tensor must have a name")

field_rule("sequence-corrid-data-type", "The correlation ID is an integer or a string",
           source="core r24.10 model_config_utils.cc ValidateModelConfig",
           at=(_correlation_ids, "data_type"), when=lambda control: type_name(control.data_type) not in _CORRID_TYPES,
           says="the data_type of CONTROL_SEQUENCE_CORRID is not valid for a correlation ID",
           cure=f"write data_type: {' or '.join(_CORRID_TYPES)}",
           bad=_sequence(_control(_CORRID.replace("UINT64", "FP32"), name='name: "ID"')),
           good=_sequence(_control(_CORRID.replace("UINT64", "STRING"), name='name: "ID"')),
           words="unexpected data type for control CONTROL_SEQUENCE_CORRID")

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
