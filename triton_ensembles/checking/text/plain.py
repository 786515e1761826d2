"""Long lists of plain values, and plain entries of maps, read in one go: token by token, a megabyte takes seconds.

Only what no rule of the text can object to. Everything else is left to the parser.
"""

import re
from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor

from triton_ensembles.checking.text.parsed import Path
from triton_ensembles.checking.text.tokens import PAIRS

_GAP = r"[ \t\r\n\v\f]*+"


class Run(NamedTuple):
    """Items of a list with their offsets; the next item begins at ``end``."""

    values: list[Any]
    offsets: "array[int]"
    end: int


def _items(pattern: str) -> re.Pattern[str]:
    # Only with a comma and another item behind it; the last alternative is where a run ends.
    return re.compile(rf"({pattern}){_GAP},{_GAP}(?={pattern})|[\s\S]")


# Numbers of nine digits fit everywhere, and such a text has neither escapes nor placeholders.
_TEXT = "[A-Za-z0-9_.:/ -]*+"
_INTEGERS = _items("-?(?:0|[1-9][0-9]{0,8})(?![A-Za-z0-9_.])")
_STRINGS = _items(f'"{_TEXT}"')
_FORMS: dict[int, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    FieldDescriptor.TYPE_INT32: (_INTEGERS, int),
    FieldDescriptor.TYPE_INT64: (_INTEGERS, int),
    FieldDescriptor.TYPE_STRING: (_STRINGS, lambda text: text[1:-1]),
}


def plain_run(field: FieldDescriptor, text: str, start: int) -> Run:
    """The plain items of a list of ``field`` from ``start``, without the last one."""
    run = Run([], array("q"), start)
    if field.type not in _FORMS:
        return run
    items, value = _FORMS[field.type]
    end = start
    for match in items.finditer(text, start):
        item = match[1]
        if item is None:
            break
        run.values.append(value(item))
        run.offsets.append(match.start())
        end = match.end()
    return run._replace(end=end)


def _entry(closer: str) -> re.Pattern[str]:
    text = f'"({_TEXT})"'
    value = rf"(?::{_GAP})?\{{{_GAP}(string_value){_GAP}:{_GAP}{text}{_GAP}\}}|:{_GAP}{text}"
    between = f"{_GAP},?{_GAP}"
    return re.compile(rf"{_GAP}(key){_GAP}:{_GAP}{text}{between}(value){_GAP}(?:{value}){between}{closer}")


_ENTRIES = {closer: _entry(closer) for closer in PAIRS.values() if closer != "]"}


def plain_entry(entry: Any, text: str, start: int, closer: str) -> tuple[dict[Path, int], int] | None:
    """Fill ``entry``, one of a map, from the text at ``start``; its offsets and its end, None when it is not plain."""
    match = _ENTRIES[closer].match(text, start)
    key, value = entry.DESCRIPTOR.fields
    if match is None or key.type != FieldDescriptor.TYPE_STRING:
        return None
    offsets: dict[Path, int] = {("key",): match.start(2) - 1}
    if match[4] is None and value.type == FieldDescriptor.TYPE_STRING:
        entry.value = match[6]
        offsets[("value",)] = match.start(6) - 1
    elif match[4] and value.message_type is not None and match[4] in value.message_type.fields_by_name:
        setattr(entry.value, match[4], match[5])
        offsets |= {("value",): match.start(3), ("value", match[4]): match.start(5) - 1}
    else:
        return None
    entry.key = match[2]
    return offsets, match.end()
