"""The kinds of text in a recipe, and the base class of its tables.

What a validator below refuses, a ``pattern`` refuses in editors, as far as a pattern can say it.
"""

import os
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from triton_ensembles.ground.spelling import listed, nearest

_LONGEST_NAME = 255  # bytes, on the file systems of Linux
_LONGEST_PATH = 2000  # bytes: the system takes 4095, of which the project's folder has some


class UnknownNameError(ValueError):
    """A name in the recipe that nothing has; ``known`` are the names that there are, ``alternative`` a cure."""

    def __init__(self, message: str, name: str, known: Iterable[str], alternative: str = "") -> None:
        super().__init__(f"{message} {name!r}")
        meant = nearest(name, known := list(known))
        there_are = f"there {'is' if len(known) == 1 else 'are'} {listed(known)}" if known else "there is none"
        self.cure = f"did you mean {meant!r}?" if meant else there_are + (f"; {alternative}" if alternative else "")


def _stays_inside(path: str) -> str:
    """The path without parts that say nothing: ``a/b`` for ``./a//b/``."""
    inner = PurePosixPath(path).as_posix()
    if inner == "." or inner.startswith("/") or ".." in inner.split("/") or "\0" in inner:
        raise ValueError(f"{path!r} must be a relative path that does not leave its folder")
    if any(len(os.fsencode(part)) > _LONGEST_NAME for part in inner.split("/")):
        raise ValueError(f"a name in this path is longer than {_LONGEST_NAME} bytes")
    if len(os.fsencode(inner)) > _LONGEST_PATH:
        raise ValueError(f"this path is longer than {_LONGEST_PATH} bytes")
    return inner


def _is_specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        raise ValueError(f"{text!r} does not say which versions; write it as '>=0.3'") from None
    return text


def _is_file_name(name: str) -> str:
    """The names of sources and environments are parts of names of files."""
    if not name or "/" in name or name.startswith(".") or not name.isprintable() or len(os.fsencode(name)) > 100:
        raise ValueError(f"{name!r} must be a name for a file: without '/', and with no '.' before it")
    return name


def _is_option(value: Any) -> Any:
    """A list becomes a tuple, so that the recipe cannot change."""
    values = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(scalar, str | bool | int | float) for scalar in values):
        raise ValueError("an option is a text, a number, true or false, or a list of these")
    return tuple(value) if isinstance(value, list) else value


Name = Annotated[
    str, AfterValidator(_is_file_name), WithJsonSchema({"type": "string", "pattern": r"^[^./][^/]*$", "maxLength": 100})
]
InnerPath = Annotated[
    str,
    AfterValidator(_stays_inside),
    WithJsonSchema({"type": "string", "pattern": r"^(?!/)(?!(.*/)?\.\.(/|$))(?!(\./*)*$).+$"}),
]
Specifier = Annotated[
    str,
    AfterValidator(_is_specifier),
    WithJsonSchema({"type": "string", "pattern": r"^(\s*(===|==|~=|!=|<=|>=|<|>)\s*[^\s,]+\s*,?)*$"}),
]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Scalar = str | bool | int | float
SCALAR = {"type": ["string", "boolean", "number"]}
Option = Annotated[
    _Scalar | tuple[_Scalar, ...],
    PlainValidator(_is_option),
    WithJsonSchema({"anyOf": [SCALAR, {"type": "array", "items": SCALAR}]}),
]
Options = dict[str, Option]


class Table(BaseModel):
    """The docstring under a field is its description in the JSON schema; its examples are TOML values."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
