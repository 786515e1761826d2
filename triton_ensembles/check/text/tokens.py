"""protobuf text format cut into tokens, each with its offset, in linear time.

The grammar is that of protobuf's C++ tokenizer (io/tokenizer.cc), because that is what tritonserver uses; Python's is
laxer in places (it takes ``+1``, ``1_000`` and no-break spaces). Nothing is refused here: what is not a token of the
grammar becomes a JUNK token, which the parser reports.
"""

import re
from bisect import bisect_right
from enum import Enum, auto
from typing import NamedTuple

from triton_ensembles.check.text.template import PLACEHOLDER, may_have_placeholders


class Kind(Enum):
    """What a token is."""

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


_SPACE = re.compile(r"(?:[ \t\r\n\v\f]+|#[^\n]*)+")
# Spaces that only look like one: no-break spaces and byte order marks come with text that was pasted or exported.
_ODD_SPACE = re.compile(r"[\ufeff\x1c-\x1f\x85\xa0\u1680\u2000-\u200d\u2028\u2029\u202f\u205f\u3000]+")
_PLAIN = r"""
        (?P<NAME>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<FLOAT>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF]?(?![A-Za-z0-9_.])
                 |[0-9]+(?:[eE][+-]?[0-9]+[fF]?|[fF])(?![A-Za-z0-9_.]))
      | (?P<INTEGER>(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)(?![A-Za-z0-9_.]))
      | (?P<STRING>"(?:[^"\n\\]|\\[^\n])*"|'(?:[^'\n\\]|\\[^\n])*')
      | (?P<BAD_STRING>"[^\n]*|'[^\n]*)
      | (?P<MARK>[][{}<>:;,=-])
      | (?P<JUNK>[0-9.][A-Za-z0-9_.]*|[^\x00-\x7f][^\s,;:{}<>[\]]*|[^\s\w"'\[\]{}<>:;,=#-]+|.)"""
_TOKEN = re.compile(_PLAIN, re.VERBOSE | re.DOTALL)
_OF_TEMPLATE = re.compile(
    rf"(?P<PLACEHOLDER>(?:-?[\w.]{{0,60}}(?:{PLACEHOLDER}))+[\w.-]*) | {_PLAIN}", re.VERBOSE | re.DOTALL
)
_NAME_NEXT = re.compile(r"\s*(?:[A-Za-z_{}\[\]<>]|\Z)")
_KINDS: dict[str | None, Kind] = {kind.name: kind for kind in Kind}
PAIRS = {"{": "}", "[": "]", "<": ">"}
_CLOSE = frozenset(PAIRS.values())
SCALARS = (Kind.NAME, Kind.INTEGER, Kind.FLOAT, Kind.STRING, Kind.BAD_STRING, Kind.PLACEHOLDER, Kind.JUNK)


class Tokens:
    """A cursor over the tokens of ``text``: ``now`` is the one looked at, :meth:`take` moves on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._token = _OF_TEMPLATE if may_have_placeholders(text) else _TOKEN
        self._next = 0
        self.odd_spaces: list[int] = []  # offsets; protobuf refuses them
        self.now = Token(Kind.END, "", 0)
        self.take()

    def take(self) -> Token:
        """Return the current token and look at the next one."""
        taken = self.now
        while space := _SPACE.match(self._text, self._next) or _ODD_SPACE.match(self._text, self._next):
            if space.re is _ODD_SPACE:
                self.odd_spaces.append(self._next)
            self._next = space.end()
        match = self._token.match(self._text, self._next)
        if match is None:
            self.now = Token(Kind.END, "", len(self._text))
        else:
            self.now = Token(_KINDS[match.lastgroup], match.group(), self._next)
            self._next = match.end()
        return taken

    def go_to(self, offset: int) -> None:
        """Look at the first token at or after ``offset``."""
        self._next = offset
        self.take()

    def next_is(self, *marks: str) -> bool:
        """Whether one of ``marks`` follows the current token."""
        end = self._next
        while space := _SPACE.match(self._text, end):
            end = space.end()
        return self._text.startswith(marks, end)

    def next_is_name(self) -> bool:
        """Whether a name or a bracket follows the current token."""
        return _NAME_NEXT.match(self._text, self._next) is not None

    def line_ends_before(self, start: int) -> bool:
        """Whether the current token is on a later line than the one at ``start``."""
        return self._text.find("\n", start, self.now.offset) >= 0

    def skip_line(self) -> None:
        """Look at the first token of the next line."""
        end = self._text.find("\n", self.now.offset)
        self._next = len(self._text) if end < 0 else end
        self.take()

    def skip_one(self) -> None:
        """Take one token, or everything up to the bracket that closes it."""
        wanted: list[str] = []
        while not self.ended:
            if wanted and self.at(*_CLOSE) and not self.at(wanted[-1]):
                return
            token = self.take()
            if token.kind is Kind.MARK and token.text in PAIRS:
                wanted.append(PAIRS[token.text])
            elif wanted and token.kind is Kind.MARK and token.text == wanted[-1]:
                wanted.pop()
            if not wanted:
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
        return self.take() if self.at(*marks) else None

    @property
    def ended(self) -> bool:
        return self.now.kind is Kind.END


def brackets_balance(text: str) -> bool:
    """Whether every bracket of the text is closed by its own kind, strings and comments (also ``//``) left out."""
    tokens = Tokens(text)
    wanted: list[str] = []
    while not tokens.ended:
        if tokens.now.text.startswith("/"):  # meant for a comment
            tokens.skip_line()
            continue
        token = tokens.take()
        if token.kind is not Kind.MARK:
            continue
        if token.text in PAIRS:
            wanted.append(PAIRS[token.text])
        elif token.text in _CLOSE and (not wanted or wanted.pop() != token.text):
            return False
    return not wanted


class Lines:
    """Offsets of a text as (line, column), both counted from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1
