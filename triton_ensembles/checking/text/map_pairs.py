"""A map written as in JSON or Python, ``input_map { "A": "B", "C": "D" }``: its meaning is plain."""

import re
from typing import NamedTuple

from google.protobuf.descriptor import FieldDescriptor

_PAIR = re.compile(
    r"""\s*(?:"(?P<key>[^"\n\\]*)"|'(?P<other_key>[^'\n\\]*)'|(?P<bare_key>[A-Za-z_]\w*))
        \s*(?:=>|->|[:=,])\s*
        (?:"(?P<value>[^"\n\\]*)"|'(?P<other_value>[^'\n\\]*)'|(?P<bare_value>[\w.+-]+))\s*[,;]?""",
    re.VERBOSE,
)
_FIELDS = ("key", "value")
_SHOWN = 2  # entries


class Pairs(NamedTuple):
    """``values`` by key, and the offset after the bracket that closes them."""

    values: dict[str, str]
    end: int


def read_pairs(text: str, start: int, closer: str) -> Pairs | None:
    """The pairs from ``start`` up to ``closer``; None when that is not what stands there."""
    values: dict[str, str] = {}
    position = start
    while match := _PAIR.match(text, position):
        key = match["key"] or match["other_key"] or match["bare_key"] or ""
        if match["bare_key"] and key in _FIELDS:  # an entry as it should be, perhaps with a misspelt field
            return None
        if not values and key in _FIELDS:  # the same with its fields in quotes
            return None
        values[key] = match["value"] or match["other_value"] or match["bare_value"] or ""
        position = match.end()
    end = re.compile(r"\s*" + re.escape(closer)).match(text, position)
    return Pairs(values, end.end()) if values and end else None


def as_entries(field: FieldDescriptor, values: dict[str, str]) -> str:
    """How protobuf text writes them."""
    wraps = field.message_type.fields_by_name["value"].message_type is not None
    shown = [
        f'{field.name} {{ key: "{key}" value: {{ string_value: "{value}" }} }}'
        if wraps
        else f'{field.name} {{ key: "{key}" value: "{value}" }}'
        for key, value in list(values.items())[:_SHOWN]
    ]
    return " ".join([*shown, "…"] if len(values) > _SHOWN else shown)
