"""The subject of a position in a config.pbtxt, however little of the text behind it is there."""

import dataclasses
from collections import Counter
from dataclasses import dataclass, replace

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from triton_ensembles.checking.text.parsed import Path
from triton_ensembles.checking.text.reading import is_map
from triton_ensembles.checking.text.tokens import PAIRS, Kind, Token, Tokens
from triton_ensembles.triton.model_config import ModelConfig

_CLOSERS = tuple(PAIRS.values())


@dataclass(frozen=True)
class Cursor:
    """The ``message`` around a position and its ``path``; the ``field`` whose value belongs there, None for the name of
    a field; the ``token`` that the position touches, None for a blank."""

    path: Path
    message: Descriptor
    field: FieldDescriptor | None
    token: Token | None

    @property
    def text(self) -> str:
        """The token, without the quotes of a string."""
        text = self.token.text if self.token else ""
        return text.strip("\"'") if self.token and self.token.kind in (Kind.STRING, Kind.BAD_STRING) else text


@dataclass
class _Open:
    """A bracket that is not closed yet: of a message (None for one that no field has), or of the list of ``field`` in
    the message, whose ``counts`` it has."""

    path: Path
    message: Descriptor | None
    field: FieldDescriptor | None = None  # whose value is expected next
    is_list: bool = False
    counts: Counter[str] = dataclasses.field(default_factory=Counter)  # of the messages in each field

    def message_of(self) -> "_Open":
        """Return the message of the expected field, and count it."""
        if self.field is None or self.field.message_type is None:
            return _Open(self.path, None)
        path = (*self.path, self.field.name)
        if self.field.is_repeated and not is_map(self.field):
            path = (*path, self.counts[self.field.name])
            self.counts[self.field.name] += 1
        return _Open(path, self.field.message_type)


def cursor_at(text: str, offset: int) -> Cursor | None:
    """Return what the position at ``offset`` is about; None in comments and where no field is known."""
    tokens, opened = Tokens(text), [_Open((), ModelConfig.DESCRIPTOR)]
    while not tokens.ended and _end(tokens.now) < offset + (tokens.now.kind is Kind.MARK):
        _take(tokens, opened)
    here, now = opened[-1], tokens.now
    if "#" in text[tokens.taken_to : min(offset, now.offset)].rpartition("\n")[2]:
        return None
    token = now if not tokens.ended and now.offset <= offset and now.kind is not Kind.MARK else None
    if here.message is None:
        return None
    is_name = here.field is not None and token is not None and token.kind is Kind.NAME and _begins_field(tokens)
    return Cursor(here.path, here.message, None if is_name else here.field, token)


def _take(tokens: Tokens, opened: list[_Open]) -> None:
    here = opened[-1]
    begins = here.field is None or (not here.is_list and _begins_field(tokens))
    token = tokens.take()
    if token.kind is not Kind.MARK:
        if token.kind is Kind.NAME and begins:
            known = here.message.fields_by_name if here.message and not here.is_list else {}
            here.field = known.get(token.text)
        elif not here.is_list:
            here.field = None
    elif token.text == "[":
        opened.append(replace(here, is_list=True))
    elif token.text in PAIRS:
        opened.append(here.message_of())
    elif token.text in _CLOSERS:
        while len(opened) > 1 and opened.pop().is_list and token.text != "]":
            pass  # a list that is not closed ends with the message around it
        if not opened[-1].is_list:
            opened[-1].field = None
    elif token.text in ",;" and not here.is_list:
        here.field = None


def _begins_field(tokens: Tokens) -> bool:
    return tokens.now.kind is Kind.NAME and tokens.next_is(":", "{", "[")


def _end(token: Token) -> int:
    return token.offset + len(token.text)
