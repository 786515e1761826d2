"""Where each field of a config.pbtxt is written. The text is valid: protobuf has parsed it before.

Format: https://protobuf.dev/reference/protobuf/textformat-spec/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_TOKEN = re.compile(r"""#[^\n]*|\s+|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[\w.+]+|.""", re.DOTALL)
_CLOSES = {"{": "}", "<": ">", "[": "]"}


class _Token(NamedTuple):
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass
class Block:
    """A message: its fields in the order of the text, and the offsets of what is between its brackets."""

    start: int
    end: int = 0
    fields: list[Field] = field(default_factory=list)

    def named(self, name: str) -> list[Field]:
        """The fields of this name; each item of a list is one of them."""
        return [each for each in self.fields if each.name == name]


@dataclass
class Field:
    """One value of a field: a message, or a scalar that reaches from ``start`` to ``end``.

    Attributes:
        outer: from the field's name to the end of all that is written with it, also of a list.
    """

    name: str
    start: int
    end: int
    block: Block | None
    outer: tuple[int, int]


def spans(text: str) -> Block:
    """The fields of a text that protobuf has parsed."""
    tokens = [_Token(found[0], found.start()) for found in _TOKEN.finditer(text)]
    reader = _Reader([each for each in tokens if not each.text.isspace() and not each.text.startswith("#")])
    return reader.message(Block(0), "", len(text))


class _Reader:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._place = tokens, 0

    def message(self, block: Block, closer: str, end: int) -> Block:
        while self._place < len(self._tokens) and self._text != closer:
            block.fields += self._field()
            while self._text in (",", ";"):
                self._take()
        block.end = self._take().start if closer else end
        return block

    @property
    def _text(self) -> str:
        return self._tokens[self._place].text if self._place < len(self._tokens) else ""

    def _take(self) -> _Token:
        self._place += 1
        return self._tokens[self._place - 1]

    def _field(self) -> list[Field]:
        name = self._take()
        if self._text == ":":
            self._take()
        values = list(self._list()) if self._text == "[" else [self._value()]
        outer = (name.start, self._tokens[self._place - 1].end)
        return [Field(name.text, start, end, block, outer) for start, end, block in values]

    def _list(self) -> Iterator[tuple[int, int, Block | None]]:
        self._take()
        while self._text != "]":
            yield self._value()
            if self._text == ",":
                self._take()
        self._take()

    def _value(self) -> tuple[int, int, Block | None]:
        first = self._take()
        if first.text in _CLOSES:
            block = self.message(Block(first.end), _CLOSES[first.text], 0)
            return first.start, block.end + 1, block
        last = first
        while last.text == "-" or (last.text[0] in "\"'" and self._text[:1] in ("'", '"')):  # strings are joined
            last = self._take()
        return first.start, last.end, None
