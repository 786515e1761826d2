"""Fields that a field of an unknown name may have been meant for: they are unknown then."""

import re
from collections.abc import Iterator

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_VALUE = re.compile(r"\s*[:=]?\s*(.)", re.DOTALL)
_WORDS = (FieldDescriptor.CPPTYPE_STRING, FieldDescriptor.CPPTYPE_ENUM, FieldDescriptor.CPPTYPE_BOOL)


def first_letter(text: str, offset: int) -> str:
    """That of the value which follows the name that ends at ``offset``; "" at the end of the text."""
    match = _VALUE.match(text, offset)
    return match[1] if match else ""


def fields_meant(message: Message, letters: set[str]) -> Iterator[str]:
    """Names of the fields that are not in ``message`` and take a value that begins with one of ``letters``."""
    present = {field.name for field, _ in message.ListFields()}
    for field in message.DESCRIPTOR.fields:
        if field.name not in present and any(_takes(field, letter) for letter in letters):
            yield field.name


def _takes(field: FieldDescriptor, letter: str) -> bool:
    is_text: bool = field.cpp_type == FieldDescriptor.CPPTYPE_STRING
    if letter == "[":
        return bool(field.is_repeated)
    if letter in ("{", "<"):
        return field.message_type is not None
    if letter in ("'", '"'):
        return is_text
    if letter.isalpha():
        return bool(field.cpp_type in _WORDS)
    return letter not in (*"-.0123456789",) or (field.message_type is None and not is_text)
