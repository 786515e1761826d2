"""Where each value of a TOML document is written. The text is valid: tomllib has parsed it before.

Format: https://toml.io/en/v1.0.0
"""

import re
import tomllib
from dataclasses import dataclass, field
from typing import NamedTuple

Keys = tuple[str, ...]
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*'""")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}(?!")' + r"|'''(?:.)*?'{3,5}(?!')" + r'|"(?:\\.|[^"\\\n])*"' + r"|'[^'\n]*'", re.DOTALL
)
_BARE = re.compile(r"[^,\]}\r\n#]*[^,\]}\r\n#\s]")


class Statement(NamedTuple):
    """``key = value`` at a place: ``table`` is what the key is relative to, ``end`` that of its last line."""

    table: Keys
    end: int


@dataclass
class Document:
    """The places of a document.

    Attributes:
        values: of each value, from its first to its last character, by its keys.
        inline: the offset of the closing brace of each inline table.
        headers: the end of the line of each ``[table]``, or of its last statement.
        dotted: the last statement that writes into each table by a dotted key.
    """

    values: dict[Keys, tuple[int, int]] = field(default_factory=dict)
    inline: dict[Keys, int] = field(default_factory=dict)
    headers: dict[Keys, int] = field(default_factory=dict)
    dotted: dict[Keys, Statement] = field(default_factory=dict)


def spans(text: str) -> Document:
    """The places of everything in a text that tomllib has parsed, but for what is inside arrays."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._found = text, 0, Document()

    def read(self) -> Document:
        table: Keys = ()
        while self._skip(_SPACE) < len(self._text):
            if self._text[self._at] == "[":
                many = self._text.startswith("[[", self._at)
                self._at += 2 if many else 1
                # Several tables of one name are never edited; the empty name keeps them apart from all others.
                table = (*self._keys(), *([""] if many else []))
                self._at += 2 if many else 1
                self._found.headers[table] = self._line_end()
            else:
                keys = self._statement(table)
                end = self._line_end()
                if table in self._found.headers:
                    self._found.headers[table] = end
                for length in range(1, len(keys)):
                    self._found.dotted[(*table, *keys[:length])] = Statement(table, end)
            self._at = self._line_end()
        return self._found

    def _statement(self, table: Keys) -> Keys:
        keys = self._keys()
        self._at += 1  # the =
        self._skip(_BLANK)
        start = self._at
        self._value((*table, *keys))
        self._found.values[(*table, *keys)] = (start, self._at)
        return keys

    def _keys(self) -> Keys:
        keys = []
        while True:
            self._skip(_BLANK)
            found = _KEY.match(self._text, self._at)
            assert found, "tomllib has read this"
            self._at = found.end()
            quoted = found[0][0] in "\"'"
            keys.append(tomllib.loads(f"key = {found[0]}")["key"] if quoted else found[0])
            self._skip(_BLANK)
            if self._text[self._at] != ".":
                return tuple(keys)
            self._at += 1

    def _value(self, keys: Keys) -> None:
        first = self._text[self._at]
        if first == "{":
            self._at += 1
            while self._text[self._skip(_SPACE)] != "}":
                self._statement(keys)
                self._at += self._text[self._skip(_SPACE)] == ","
            self._found.inline[keys] = self._at
            self._at += 1
        elif first == "[":
            self._at += 1
            while self._text[self._skip(_SPACE)] != "]":
                self._value((*keys, ""))
                self._at += self._text[self._skip(_SPACE)] == ","
            self._at += 1
        else:
            found = (_STRING if first in "\"'" else _BARE).match(self._text, self._at)
            assert found, "tomllib has read this"
            self._at = found.end()

    def _skip(self, what: re.Pattern[str]) -> int:
        found = what.match(self._text, self._at)
        assert found
        self._at = found.end()
        return self._at

    def _line_end(self) -> int:
        """The offset of the line break after this place, or of the end."""
        end = self._text.find("\n", self._at)
        return len(self._text) if end < 0 else end
