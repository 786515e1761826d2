"""Places in a text: those of the checker, offsets of letters, and the positions of an editor, mostly in UTF-16."""

import re
from bisect import bisect_right
from itertools import accumulate

from lsprotocol.types import Position, Range
from pygls.workspace import PositionCodec

from triton_ensembles.checking.fault import Place

_LINE_STARTS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")  # as the protocol has them; Python's splitlines has more
_WORD = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|[\w.]+|\S")


class Positions:
    """The lines of ``text``; ``codec`` counts as the editor does."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.text, self._codec = text, codec
        self._lines = _LINE_STARTS.split(text)
        self._starts = [0, *accumulate(map(len, self._lines[:-1]))]

    def offset(self, position: Position) -> int:
        """Return the offset of a position; behind the end of a line or of the text, it is that end."""
        if position.line >= len(self._lines):
            return len(self.text)
        line, start = self._lines[position.line].rstrip("\r\n"), self._starts[position.line]
        if position.character >= self._codec.client_num_units(line):
            return start + len(line)
        return start + self._codec.position_from_client_units([line], Position(0, position.character)).character

    def at(self, offset: int) -> Position:
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._codec.client_num_units(self._lines[line][: offset - self._starts[line]]))

    def range(self, start: int, end: int) -> Range:
        return Range(self.at(start), self.at(end))

    def word(self, place: Place) -> Range:
        """Return the word, text or sign at a place; the first line for a file as a whole."""
        lines = self.text.split("\n")  # as the checker counts them
        number = min(max(place.line, 1), len(lines)) - 1
        start = sum(len(line) + 1 for line in lines[:number])
        if not place.line:
            return self.range(0, len(lines[0].rstrip("\r")))
        start += min(max(place.column, 1) - 1, len(lines[number]))
        match = _WORD.match(self.text, start)
        return self.range(start, match.end() if match else start)
