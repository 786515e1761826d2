"""Enums given by number: protobuf takes any, and Triton takes an unknown one for something else."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.rule import Finding, Model, warning
from triton_ensembles.checking.text.parsed import Path

GOOD = python_model(inputs='{ name: "X", data_type: 11, dims: [ 4 ] }')
# Triton refuses the model for these, and rules of their own report them.
_REFUSED = frozenset({("instance_group", "kind"), ("batch_input", "kind"), ("batch_input", "data_type"),
                      ("batch_output", "kind"), ("model_warmup", "data_type"), ("state", "initial_state", "data_type"),
                      ("control_input", "data_type")})  # fmt: skip


@warning(
    "An enum that is given by its number has this number",
    source="protobuf's text format takes any number for an enum of proto3; measured on 2.51.0",
    bad=python_model(inputs='{ name: "X", data_type: 99, dims: [ 4 ] }'),
)
def enum_number_unknown(model: Model) -> Iterator[Finding]:
    for path, field, number in _numbers(model.file.config, ()):
        enum = field.enum_type
        if number in enum.values_by_number or _is_reported(path):
            continue
        is_type = enum.name == "DataType" and path[0] == "input"
        effect = "Triton loads the model and ignores the field, or takes the number for another value"
        if is_type:
            effect = "Triton loads the model and refuses every request: model expects '<invalid>'"
        cure = f"write a name, such as {field.name}: {list(enum.values_by_name)[-1]}"
        yield Finding(model.at(*path), f"there is no {enum.name} {number}", effect, cure)


def _is_reported(path: Path) -> bool:
    names = [part for part in path if isinstance(part, str)]
    return any(set(known) <= set(names) and known[-1] == names[-1] for known in _REFUSED)


def _numbers(message: Message, path: Path) -> Iterator[tuple[Path, FieldDescriptor, int]]:
    """Every enum that is set, with its path as :meth:`Model.at` takes it."""
    for field, value in message.ListFields():
        here: Path = (*path, field.name)
        if field.enum_type is not None:
            values: list[Any] = list(value) if field.is_repeated else [value]
            for index, number in enumerate(values):
                yield ((*here, index) if field.is_repeated else here), field, number
        elif field.message_type is None:
            continue
        elif field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                for key in value:
                    yield from _numbers(value[key], (*here, key, "value"))
        else:
            for index, item in enumerate(value if field.is_repeated else [value]):
                yield from _numbers(item, (*here, index) if field.is_repeated else here)
