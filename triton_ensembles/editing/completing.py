"""What may stand where somebody types."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.descriptor import FieldDescriptor

from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.tokens import Kind
from triton_ensembles.editing.cursor import Cursor, cursor_at
from triton_ensembles.editing.names import described, offered
from triton_ensembles.triton.backends import BACKENDS
from triton_ensembles.triton.model_config_fields import meaning_of_field, meaning_of_value, type_of_field

_IN_PYTHON = (
    ("input", re.compile(r"\bget_input_(?:tensor|config)_by_name\([^()\n]*,\s*[\"'](\w*)$")),
    ("output", re.compile(r"\b(?:Tensor\(\s*|get_output_config_by_name\([^()\n]*,\s*)[\"'](\w*)$")),
)


class Proposal(NamedTuple):
    """A word that may stand from the offset ``start`` up to the position, and what it is."""

    start: int
    label: str
    text: str
    kind: str  # field, value, model or tensor
    detail: str = ""
    meaning: str = ""


def in_config(model: Model, text: str, offset: int) -> Iterator[Proposal]:
    """Yield the fields, values and names that may stand at ``offset`` of the config of ``model``."""
    cursor = cursor_at(text, offset)
    if cursor is None:
        return
    start = cursor.token.offset if cursor.token else offset
    if cursor.field is None:
        ends = "" if re.match(r"\w*[ \t]*[:{\[]", text[offset : offset + 200]) else None
        for field in cursor.message.fields:
            end = (" " if field.message_type else ": ") if ends is None else ends
            meaning = meaning_of_field(field)
            yield Proposal(start, field.name, field.name + end, "field", type_of_field(field), meaning)
    elif cursor.field.enum_type:
        for value in cursor.field.enum_type.values_by_name:
            yield Proposal(start, value, value, "value", "", meaning_of_value(cursor.field.enum_type, value))
    elif cursor.field.type == FieldDescriptor.TYPE_BOOL:
        yield from (Proposal(start, value, value, "value") for value in ("true", "false"))
    elif cursor.field.type == FieldDescriptor.TYPE_STRING:
        yield from _names(model, cursor, start)


def _names(model: Model, cursor: Cursor, start: int) -> Iterator[Proposal]:
    is_quoted = cursor.token is not None and cursor.token.kind in (Kind.STRING, Kind.BAD_STRING)
    names, kind = offered(model, cursor), "model" if cursor.field and cursor.field.name == "model_name" else "tensor"
    if not cursor.path and cursor.field and cursor.field.name == "backend":
        names, kind = dict.fromkeys(BACKENDS, ""), "value"
    for name, detail in names.items():
        yield Proposal(start + is_quoted, name, name if is_quoted else f'"{name}"', kind, detail)


def in_python(model: Model, text: str, offset: int) -> Iterator[Proposal]:
    """Yield the tensors of ``model`` that its model.py may name at ``offset``."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    for kind, pattern in _IN_PYTHON:
        if match := pattern.search(line):
            for name, detail in described(getattr(model.file.config, kind)).items():
                yield Proposal(offset - len(match[1]), name, name, "tensor", detail)
