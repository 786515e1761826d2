"""The controls of sequence_batching: core r24.10 model_config_utils.cc ValidateModelConfig and its Get…Properties."""

from collections.abc import Iterator
from typing import Any

from triton_ensembles.check.examples import parameter, python_model
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.config.tensors import repeated
from triton_ensembles.triton.model_config import DataType

SOURCE = "core r24.10 model_config_utils.cc GetBooleanSequenceControlProperties, GetTypedSequenceControlProperties"
_VALUES = ("int32_false_true", "fp32_false_true", "bool_false_true")
_CORRID_TYPES = ("TYPE_UINT64", "TYPE_INT64", "TYPE_UINT32", "TYPE_INT32", "TYPE_STRING")


def _sequence(inner: str) -> str:
    return python_model(f"sequence_batching {{ {inner} }}")


def _control(*controls: str, name: str = 'name: "START"') -> str:
    return f"control_input [ {{ {name}, control [ {', '.join(controls)} ] }} ]".replace("{ ,", "{")


_START = "{ kind: CONTROL_SEQUENCE_START, fp32_false_true: [ 0, 1 ] }"
_END = "{ kind: CONTROL_SEQUENCE_END, fp32_false_true: [ 0, 1 ] }"
_CORRID = "{ kind: CONTROL_SEQUENCE_CORRID, data_type: TYPE_UINT64 }"
GOOD = _sequence(_control(_START))


def _controls(model: Model) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    """(path, control_input, control) of every control."""
    for number, tensor in enumerate(model.config.sequence_batching.control_input):
        for index, control in enumerate(tensor.control):
            yield ("sequence_batching", "control_input", number, "control", index), tensor, control


def _kind(control: Any) -> str:
    known = control.kind in control.Kind.values()
    return str(control.Kind.Name(control.kind)) if known else str(control.kind)


@rule(
    "Every control_input has a name",
    bad=_sequence(_control(_START, name="")),
    words="sequence batching control tensor must have a name",
)
def sequence_control_name_missing(model: Model) -> Iterator[Finding]:
    for number, tensor in enumerate(model.config.sequence_batching.control_input):
        path = ("sequence_batching", "control_input", number)
        if not tensor.name:
            yield Finding(model.at(*path), f"control_input {number} has no name", cure='write name: "…"')


@rule(
    "Each tensor is in only one control_input",
    bad=_sequence(_control(_START) + " " + _control(_END)),
    good=_sequence(_control(_START) + " " + _control(_END, name='name: "END"')),
    words="sequence batching control tensor '…' is specified for multiple control kinds",
)
def sequence_control_tensor_twice(model: Model) -> Iterator[Finding]:
    names = [tensor.name for tensor in model.config.sequence_batching.control_input]
    for number, name in repeated(names):
        if name:
            yield Finding(
                model.at("sequence_batching", "control_input", number, "name"),
                f"control_input '{name}' is given twice",
                cure="give each control its own tensor",
            )


@rule(
    "Each kind of control is given only once",
    bad=_sequence(_control(_START) + " " + _control(_START, name='name: "BEGIN"')),
    words="sequence batching specifies multiple … tensors",
)
def sequence_control_kind_twice(model: Model) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, _, control in _controls(model):
        kind = _kind(control)
        if kind in seen:
            yield Finding(model.at(*path, "kind"), f"{kind} is given twice", cure="keep one of the two")
        seen.add(kind)


@rule(
    "A control has one list of two values, for false and for true",
    bad=_sequence(_control("{ kind: CONTROL_SEQUENCE_START, fp32_false_true: [ 1 ] }")),
    words="must have exactly 2 entries",
)
def sequence_control_values(model: Model) -> Iterator[Finding]:
    for path, _, control in _controls(model):
        given = [name for name in _VALUES if len(getattr(control, name))]
        if control.kind not in (0, 1, 2):  # START, READY, END: the true-or-false kinds
            continue
        kind = _kind(control)
        if len(given) == 1 and len(getattr(control, given[0])) == 2:
            continue
        if not given:
            message, words = f"{kind} has no values", f"must specify either 'int32_false_true', … for {kind}"
        elif len(given) > 1:
            message, words = f"{kind} has values of several types", "specifies more than one from 'int32_false_true', …"
        else:
            count = len(getattr(control, given[0]))
            message = f"{kind} has {count} value" + ("s" if count != 1 else "")
            words = f"control '{given[0]}' must have exactly 2 entries for {kind}"
        place = model.at(*path, given[-1] if given else "kind")
        cure = f"write {given[0] if given else 'int32_false_true'}: [ 0, 1 ]"
        yield Finding(place, message, f"Triton refuses it: sequence batching {words} for {model.name}", cure)


@rule(
    "The correlation ID has a data_type and no values",
    bad=_sequence(_control(_CORRID.replace(" }", ", int32_false_true: [ 0, 1 ] }"), name='name: "ID"')),
    good=_sequence(_control(_CORRID, name='name: "ID"')),
    words="sequence batching must not specify either 'int32_false_true', …",
)
def sequence_corrid_values(model: Model) -> Iterator[Finding]:
    for path, _, control in _controls(model):
        given = [name for name in _VALUES if len(getattr(control, name))]
        if control.kind == control.CONTROL_SEQUENCE_CORRID and given:
            message = f"CONTROL_SEQUENCE_CORRID has {given[0]}"
            yield Finding(model.at(*path, given[0]), message, cure=f"delete {given[0]}")


@rule(
    "The correlation ID is an integer or a string",
    source="core r24.10 model_config_utils.cc ValidateModelConfig",
    bad=_sequence(_control(_CORRID.replace("UINT64", "FP32"), name='name: "ID"')),
    good=_sequence(_control(_CORRID.replace("UINT64", "STRING"), name='name: "ID"')),
    words="unexpected data type for control CONTROL_SEQUENCE_CORRID",
)
def sequence_corrid_data_type(model: Model) -> Iterator[Finding]:
    allowed = {DataType.Value(name) for name in _CORRID_TYPES}
    for path, _, control in _controls(model):
        if control.kind == control.CONTROL_SEQUENCE_CORRID and control.data_type not in allowed:
            yield Finding(
                model.at(*path, "data_type"),
                "the data_type of CONTROL_SEQUENCE_CORRID is not valid for a correlation ID",
                cure=f"write data_type: {' or '.join(_CORRID_TYPES)}",
            )


@rule(
    "minimum_slot_utilization is between 0 and 1",
    source="core r24.10 model_config_utils.cc ValidateModelConfig",
    bad=_sequence("direct { minimum_slot_utilization: 2 }"),
    good=_sequence("direct { minimum_slot_utilization: 0.5 }"),
    words="sequence batching minimum slot utilization must be in range (0.0, 1.0]",
)
def sequence_slot_utilization(model: Model) -> Iterator[Finding]:
    share = model.config.sequence_batching.direct.minimum_slot_utilization
    if share < 0 or share > 1:
        yield Finding(
            model.at("sequence_batching", "direct", "minimum_slot_utilization"),
            f"minimum_slot_utilization is {share:g}",
            cure="write a number from 0 to 1",
        )


@rule(
    "TRITON_BATCH_STRATEGY_PATH cannot be combined with sequence_batching",
    source="core r24.10 backend_model.cc TritonModel::Create",
    bad=_sequence("") + parameter("TRITON_BATCH_STRATEGY_PATH", "strategy.so"),
    good=_sequence(""),
    words="TRITON_BATCH_STRATEGY_PATH cannot be specified with sequence batcher, using default batching strategy",
)
def sequence_batch_strategy(model: Model) -> Iterator[Finding]:
    key = "TRITON_BATCH_STRATEGY_PATH"
    if model.config.HasField("sequence_batching") and key in model.config.parameters:
        yield Finding(
            model.at("parameters", key), f"{key} cannot be combined with sequence_batching", cure="delete the parameter"
        )
