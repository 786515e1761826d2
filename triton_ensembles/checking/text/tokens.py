"""protobuf text format cut into tokens, each with its offset, in linear time.

The grammar is that of protobuf's C++ tokenizer (io/tokenizer.cc), because that is what tritonserver uses; Python's is
laxer in places (it takes ``+1``, ``1_000`` and no-break spaces). Nothing is refused here: what is not a token of the
grammar becomes a JUNK token, which the parser reports.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from enum import Enum, auto
from typing import NamedTuple

from triton_ensembles.checking.text.template import PLACEHOLDER, may_have_placeholders


class Kind(Enum):
    """The kind of a token."""

    NAME = auto()
    INTEGER = auto()
    FLOAT = auto()
    STRING = auto()
    BAD_STRING = auto()  # a quote that its own line does not close
    MARK = auto()
    PLACEHOLDER = auto()  # of a template that was never filled in, with what it is glued to: TYPE_${x}
    JUNK = auto()
    END = auto()


class Token(NamedTuple):
    """A piece of the text, and where it begins."""

    kind: Kind
    text: str
    offset: int


# What is between two tokens. Possessive, as are all repetitions of groups here: nothing is kept for going back.
_GAP = r"(?:[ \t\r\n\v\f]++|\#[^\n]*+)*+"
_SPACE = re.compile(_GAP)
_PLAIN = r"""
        (?P<NAME>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<FLOAT>(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF]?(?![A-Za-z0-9_.])
                 |(?:0|[1-9][0-9]*)(?:[eE][+-]?[0-9]+[fF]?|[fF])(?![A-Za-z0-9_.]))
      | (?P<INTEGER>(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)(?![A-Za-z0-9_.]))
      | (?P<STRING>"(?:[^"\n\\]++|\\[^\n])*+"|'(?:[^'\n\\]++|\\[^\n])*+')
      | (?P<BAD_STRING>"[^\n]*|'[^\n]*)
      | (?P<MARK>[][{}<>:;,=-])
      # Spaces that only look like one: no-break spaces and byte order marks come with text that was pasted or exported.
      | (?P<ODD_SPACE>[\ufeff\x1c-\x1f\x85\xa0\u1680\u2000-\u200d\u2028\u2029\u202f\u205f\u3000]+)
      | (?P<JUNK>[0-9.][A-Za-z0-9_.]*|[^\x00-\x7f][^\s,;:{}<>[\]]*|[^\s\w"'\[\]{}<>:;,=#-]+|.)"""
_TOKEN = re.compile(rf"{_GAP}(?:{_PLAIN})?", re.VERBOSE | re.DOTALL)
_OF_TEMPLATE = re.compile(
    rf"{_GAP}(?:(?P<PLACEHOLDER>(?:-?[\w.]{{0,60}}(?:{PLACEHOLDER}))+[\w.-]*) | {_PLAIN})?", re.VERBOSE | re.DOTALL
)
_NAME_NEXT = re.compile(r"\s*(?:[A-Za-z_{}\[\]<>]|\Z)")
_KINDS: dict[str | None, Kind] = {kind.name: kind for kind in Kind}
PAIRS = {"{": "}", "[": "]", "<": ">"}
_CLOSE = frozenset(PAIRS.values())
SCALARS = (Kind.NAME, Kind.INTEGER, Kind.FLOAT, Kind.STRING, Kind.BAD_STRING, Kind.PLACEHOLDER, Kind.JUNK)


class Tokens:
    """A cursor over the tokens of ``text``: ``now`` is the one looked at, :meth:`take` moves on."""

    def __init__(self, text: str, *, placeholders: bool = False) -> None:
        self._text = text
        self._token = _token(text) if placeholders else _TOKEN
        self._next = 0
        self._line_ends: array[int] | None = None
        self.odd_spaces: list[int] = []  # offsets; protobuf refuses them
        self.now = Token(Kind.END, "", 0)
        self.taken_to = 0  # the end of what was taken last
        self.take()

    def take(self) -> Token:
        """Return the current token and look at the next one."""
        taken = self.now
        self.taken_to = taken.offset + len(taken.text)
        match = self._token.match(self._text, self._next)
        while match and match.lastgroup == "ODD_SPACE":
            self.odd_spaces.append(match.start("ODD_SPACE"))
            match = self._token.match(self._text, match.end())
        if match is None or match.lastgroup is None:
            self.now = Token(Kind.END, "", len(self._text))
        else:
            self.now = Token(_KINDS[match.lastgroup], match[match.lastgroup], match.start(match.lastgroup))
            self._next = match.end()
        return taken

    def go_to(self, offset: int) -> None:
        """Look at the first token at or after ``offset``."""
        self._next = offset
        self.take()
        self.taken_to = offset

    def next_is(self, *marks: str) -> bool:
        """Return whether one of ``marks`` follows the current token."""
        space = _SPACE.match(self._text, self._next)
        return self._text.startswith(marks, space.end() if space else self._next)

    def next_is_name(self) -> bool:
        """Return whether a name or a bracket follows the current token."""
        return _NAME_NEXT.match(self._text, self._next) is not None

    def line_ends_before(self, start: int) -> bool:
        """Return whether the current token is on a later line than the one at ``start``."""
        return self.line_end(start) < self.now.offset

    def line_end(self, offset: int) -> int:
        """The offset of the end of the line at ``offset``. A search each time would be quadratic on a long line."""
        if self._line_ends is None:
            self._line_ends = array("q", (match.start() for match in re.finditer("\n", self._text)))
        index = bisect_left(self._line_ends, offset)
        return self._line_ends[index] if index < len(self._line_ends) else len(self._text)

    def skip_line(self) -> None:
        """Look at the first token of the next line."""
        self.go_to(self.line_end(self.now.offset))

    def skip_one(self) -> None:
        """Take one token, or everything up to the bracket that closes it."""
        closers: list[str] = []
        while not self.ended:
            if closers and self.at(*_CLOSE) and not self.at(closers[-1]):
                return
            token = self.take()
            if token.kind is Kind.MARK and token.text in PAIRS:
                closers.append(PAIRS[token.text])
            elif closers and token.kind is Kind.MARK and token.text == closers[-1]:
                closers.pop()
            if not closers:
                return

    def skip_value(self) -> None:
        """Take whatever follows the name of a field that is not known."""
        colon = self.take_mark(":")
        if self.at(*PAIRS):
            self.skip_one()
        elif colon or self.now.kind not in (Kind.NAME, Kind.MARK, Kind.END):
            self.take_mark("-")
            if self.now.kind in SCALARS:
                first = self.take()
                while first.kind is Kind.STRING and self.now.kind in (Kind.STRING, Kind.BAD_STRING):
                    self.take()

    def at(self, *marks: str) -> bool:
        return self.now.kind is Kind.MARK and self.now.text in marks

    def take_mark(self, *marks: str) -> Token | None:
        return self.take() if self.now.kind is Kind.MARK and self.now.text in marks else None

    @property
    def ended(self) -> bool:
        return self.now.kind is Kind.END


def brackets_balance(text: str) -> bool:
    """Return whether every bracket is closed by its own kind, strings and comments (also ``//``) left out."""
    token = _token(text)
    closers: list[str] = []
    start: int | None = 0
    while start is not None:
        position, start = start, None
        for match in token.finditer(text, position):
            if match.lastgroup == "MARK":
                mark = match["MARK"]
                if mark in PAIRS:
                    closers.append(PAIRS[mark])
                elif mark in _CLOSE and (not closers or closers.pop() != mark):
                    return False
            elif match.lastgroup == "JUNK" and match["JUNK"].startswith("/"):  # meant for a comment
                end = text.find("\n", match.end())
                start = end if end >= 0 else None
                break
    return not closers


def _token(text: str) -> re.Pattern[str]:
    return _OF_TEMPLATE if may_have_placeholders(text) else _TOKEN


class Lines:
    """Offsets of a text as (line, column), both counted from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1
