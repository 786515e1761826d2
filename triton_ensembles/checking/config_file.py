"""A config.pbtxt with the place of everything in it."""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from triton_ensembles.checking.fault import Edit, Place
from triton_ensembles.checking.text.parsed import Parsed, Path, TextFault
from triton_ensembles.checking.text.parser import parse
from triton_ensembles.checking.text.tokens import Kind, Lines, Token, Tokens
from triton_ensembles.checking.text.unknown import UnknownValueError, view
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.triton.model_config import CONFIG, ModelConfig

_PLAIN = re.compile(r"[^\"\\\x00-\x1f]+")


@dataclass(frozen=True)
class ConfigFile:
    """The content of a config.pbtxt. ``config`` is as complete as the text allows: see
    :mod:`triton_ensembles.checking.text.parser` for the recovery."""

    shown: str  # the path that people see
    content: str | None  # "" when there is no such file, None when it could not be read
    # parameters that are added to those of the text, and the places where they are written
    added: Mapping[str, tuple[str, Place]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        if self.content is None:
            raise UnknownValueError
        return self.content

    @property
    def config(self) -> ModelConfig:
        return self._parsed.message

    def known(self, unknown: Set[Path] = frozenset()) -> ModelConfig:
        """``config`` for rules: reading ``unknown`` or what could not be parsed raises UnknownValueError."""
        return cast(ModelConfig, view(self.config, self._parsed.damaged | unknown))

    @property
    def faults(self) -> list[TextFault]:
        return self._parsed.faults

    def place(self, offset: int) -> Place:
        return Place(self.shown, *self._lines.at(offset))

    def at(self, *path: str | int | bool) -> Place:
        """The place of the field at ``path``, or of the nearest one around it that the text has.

        ``at("input", 0, "dims", 1)``; map entries by key: ``at("parameters", "EXECUTION_ENV_PATH", "value",
        "string_value")``; a step's map: ``at("ensemble_scheduling", "step", 2, "input_map", "INPUT0", "value")``.
        """
        match path:
            case ("parameters", str(key), *_) if key in self.added:
                return self.added[key][1]
        for end in range(len(path), 0, -1):
            offset = self._parsed.offset(path[:end])
            if offset is not None:
                return self.place(offset)
        return Place(self.shown, 1 if self.content else 0)

    def has(self, *path: str | int | bool) -> bool:
        """Return whether the text has this field, also when its value is the default."""
        return self._parsed.offset(path) is not None

    def renamed(self, *path: str | int | bool, to: str | None, field: str = "") -> tuple[Edit, ...]:
        """The edit that makes the string at ``path`` ``to``, and its field ``field`` if that is given; none without a
        name, or where the text has it otherwise than as the field's name, a colon and one string."""
        token = self._token(path)
        if token is None or token.kind is not Kind.STRING or not _PLAIN.fullmatch(to or ""):
            return ()
        start, new = token.offset, f'"{to}"'
        if field:
            written = re.compile(rf"(?<!\w){path[-1]}[ \t]*:[ \t]*\Z").search(self.text, max(0, start - 100), start)
            if written is None:
                return ()
            start, new = written.start(), f"{field}: {new}"
        return (Edit(start, token.offset + len(token.text), new),)

    def swapped(self, first: Path, second: Path) -> tuple[Edit, ...]:
        """The edits that exchange two strings; none unless the text has both."""
        tokens = [token for path in (first, second) if (token := self._token(path)) and token.kind is Kind.STRING]
        pairs = zip(tokens, reversed(tokens), strict=True) if len(tokens) == 2 else ()
        return tuple(Edit(old.offset, old.offset + len(old.text), new.text) for old, new in pairs)

    def called(self, *paths: Path, to: str) -> tuple[Edit, ...]:
        """The edits that write ``to`` for the field's name wherever the entries of a map at ``paths`` have one."""
        tokens = {token for path in paths if (token := self._token(path)) and token.kind is Kind.NAME}
        return tuple(Edit(token.offset, token.offset + len(token.text), to) for token in sorted(tokens, key=str))

    def before(self, *path: str | int | bool, line: str) -> tuple[Edit, ...]:
        """The edit that puts ``line`` before the field at ``path``; none unless that begins a line."""
        offset = self._parsed.offset(path)
        if offset is None or (offset and self.text[offset - 1] != "\n"):
            return ()
        return (Edit(offset, offset, line + ("\r\n" if "\r\n" in self.text else "\n")),)

    def _token(self, path: Path) -> Token | None:
        """Return what stands at ``path``; None if it is several strings, or nothing."""
        offset = self._parsed.offset(path)
        if offset is None or (path[0] == "parameters" and path[1] in self.added):
            return None
        tokens = Tokens(self.text)
        tokens.go_to(offset)
        token = tokens.take()
        return None if token.kind is Kind.STRING is tokens.now.kind else token

    @cached_property
    def _parsed(self) -> Parsed:
        if self.content is None:
            return Parsed(ModelConfig(), damaged={()})
        nul = self.text.find("\0")
        if nul >= 0:  # not text at all: one fault is enough
            fault = TextFault("config-not-text", nul, "this is not a text file", "write a config.pbtxt in UTF-8")
            return Parsed(ModelConfig(), [fault], damaged={()})
        parsed = parse(self.text, ModelConfig())
        for key, (value, _) in self.added.items():
            parsed.message.parameters[key].string_value = value
        return parsed

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.text)


def is_near_config(name: str) -> bool:
    """Return whether a file's name is a misspelling of config.pbtxt, or what editors and browsers make of it."""
    letters = re.sub(r"[^a-z]", "", name.lower())
    known = letters.startswith(("configpb", "configproto")) or letters in ("config", "configtxt", "copyofconfigpbtxt")
    if name == CONFIG or name.startswith("."):
        return False
    return known or name.lower().endswith(".pbtxt") or nearest(name, [CONFIG]) is not None
