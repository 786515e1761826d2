"""Fields that a field of an unknown name may have been meant for: they are unknown then."""

import re
from collections.abc import Iterator
from enum import Enum, auto

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_VALUE = re.compile(r"\s*[:=]?\s*(.)", re.DOTALL)


class ValueForm(Enum):
    """The look of a value."""

    TEXT = auto()
    NUMBER = auto()
    WORD = auto()
    GROUP = auto()
    LIST = auto()
    OTHER = auto()


_BY_FIRST_LETTER = dict.fromkeys("'\"", ValueForm.TEXT) | dict.fromkeys("{<", ValueForm.GROUP) | {"[": ValueForm.LIST}
_BY_FIRST_LETTER |= dict.fromkeys("-.0123456789", ValueForm.NUMBER)


def form_of(text: str, offset: int) -> ValueForm:
    """The form of the value that follows the name which ends at ``offset``."""
    match = _VALUE.match(text, offset)
    first = match[1] if match else ""
    return _BY_FIRST_LETTER.get(first, ValueForm.WORD if first.isalpha() else ValueForm.OTHER)


def fields_meant(message: Message, forms: set[ValueForm]) -> Iterator[str]:
    """Names of the fields that are not in ``message`` and take a value of one of ``forms``."""
    present = {field.name for field, _ in message.ListFields()}
    for field in message.DESCRIPTOR.fields:
        if field.name not in present and not forms.isdisjoint(_forms(field)):
            yield field.name


def _forms(field: FieldDescriptor) -> set[ValueForm]:
    forms = {ValueForm.OTHER, ValueForm.LIST} if field.is_repeated else {ValueForm.OTHER}
    if field.message_type is not None:
        return {*forms, ValueForm.GROUP}
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return {*forms, ValueForm.TEXT, ValueForm.WORD}
    if field.cpp_type in (FieldDescriptor.CPPTYPE_ENUM, FieldDescriptor.CPPTYPE_BOOL):
        return {*forms, ValueForm.WORD, ValueForm.NUMBER}
    return {*forms, ValueForm.NUMBER}
