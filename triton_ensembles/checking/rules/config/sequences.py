"""The controls of sequence_batching: core r24.10 model_config_utils.cc ValidateModelConfig and its Get…Properties."""

from collections.abc import Iterator
from typing import Any

from triton_ensembles.checking.config_tensors import type_name
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.field_rule import Path, field_rule, namesakes
from triton_ensembles.checking.rule import Finding, Model, rule

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


def _controls(model: Model) -> Iterator[tuple[Path, Any]]:
    for number, tensor in enumerate(model.config.sequence_batching.control_input):
        for index, control in enumerate(tensor.control):
            yield ("sequence_batching", "control_input", number, "control", index), control


def _correlation_ids(model: Model) -> Iterator[tuple[Path, Any]]:
    return (item for item in _controls(model) if item[1].kind == item[1].CONTROL_SEQUENCE_CORRID)


def _kind(control: Any) -> str:
    known = control.kind in control.Kind.values()
    return str(control.Kind.Name(control.kind)) if known else str(control.kind)


@rule(
    "Each kind of control is given only once",
    bad=_sequence(_control(_START) + " " + _control(_START, name='name: "BEGIN"')),
    words="sequence batching specifies multiple … tensors",
)
def sequence_control_kind_twice(model: Model) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, control in _controls(model):
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
    for path, control in _controls(model):
        values = [name for name in _VALUES if len(getattr(control, name))]
        if control.kind not in (0, 1, 2):  # START, READY, END: the true-or-false kinds
            continue
        kind = _kind(control)
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


@rule(
    "The correlation ID has a data_type and no values",
    bad=_sequence(_control(_CORRID.replace(" }", ", int32_false_true: [ 0, 1 ] }"), name='name: "ID"')),
    good=_sequence(_control(_CORRID, name='name: "ID"')),
    words="sequence batching must not specify either 'int32_false_true', …",
)
def sequence_corrid_values(model: Model) -> Iterator[Finding]:
    for path, control in _correlation_ids(model):
        values = [name for name in _VALUES if len(getattr(control, name))]
        if values:
            message = f"CONTROL_SEQUENCE_CORRID has {values[0]}"
            yield Finding(model.at(*path, values[0]), message, cure=f"delete {values[0]}")


# fmt: off
field_rule("sequence-control-tensor-twice", "Each tensor is in only one control_input",
           at=(namesakes("sequence_batching.control_input"), "name"), when=lambda name: name,
           says="control_input '{item}' is given twice", cure="give each control its own tensor",
           bad=_sequence(_control(_START) + " " + _control(_END)),
           good=_sequence(_control(_START) + " " + _control(_END, name='name: "END"')),
           words="sequence batching control tensor '…' is specified for multiple control kinds")

field_rule("sequence-control-name-missing", "Every control_input has a name",
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
