"""Sets values of an ensemble.toml in its text: everything else, comments too, stays as it is, byte for byte.

A library that keeps comments, such as tomlkit, would be a dependency of its own for these few lines; and what it
cannot keep would not be noticed. Here each edit is read back, and one that changed anything else is refused.
"""

import copy
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.tuning.toml_spans import Keys, spans

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def edit_recipe(text: str, path: Path, values: Mapping[Keys, str | int]) -> str:
    """The text with each value at its keys; a table that is missing is written at the end.

    Raises:
        EnsembleError: the text is not TOML, or says it in a way that cannot be edited; it names the file.
    """
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EnsembleError(f"this is not TOML: {error}", path=path) from error
    for keys, value in values.items():
        wanted = copy.deepcopy(before)
        table = wanted
        try:
            for key in keys[:-1]:
                table = table.setdefault(key, {})
            table[keys[-1]] = value
        except (AttributeError, TypeError):
            raise _refusal(keys, value, path) from None
        if wanted == before:
            continue
        text = _with_value(text, keys, value)
        try:
            before = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            before = {}
        if before != wanted:
            raise _refusal(keys, value, path)
    return text


def _refusal(keys: Keys, value: str | int, path: Path) -> EnsembleError:
    return EnsembleError(f"{'.'.join(keys)} cannot be set to {value} in this text", path=path, cure="write it by hand")


def _with_value(text: str, keys: Keys, value: str | int) -> str:
    document, newline = spans(text), "\r\n" if "\r\n" in text else "\n"
    if keys in document.values:
        start, end = document.values[keys]
        return text[:start] + _literal(value) + text[end:]
    for length in range(len(keys) - 1, 0, -1):
        table, inner = keys[:length], keys[length:]
        if table in document.inline:
            end = document.inline[table]
            inside = text[:end].rstrip()
            comma = "" if inside.endswith(("{", ",")) else ","
            return f"{inside}{comma} {_dotted(inner)} = {_literal(value)} {text[end:]}"
        if table in document.headers and len(inner) == 1:
            return _line_after(text, document.headers[table], f"{_dotted(inner)} = {_literal(value)}", newline)
        if table in document.dotted and len(inner) == 1:
            statement = document.dotted[table]
            own = _dotted(keys[len(statement.table) :])
            return _line_after(text, statement.end, f"{own} = {_literal(value)}", newline)
    gap = "" if not text or text.endswith("\n") else newline
    blank = newline if text.strip() else ""
    return f"{text}{gap}{blank}[{_dotted(keys[:-1])}]{newline}{_dotted(keys[-1:])} = {_literal(value)}{newline}"


def _line_after(text: str, end: int, line: str, newline: str) -> str:
    """``text`` with ``line`` after the one that ends at ``end``, its line break or the end of the text."""
    if end == len(text):
        return f"{text}{newline}{line}{newline}"
    return f"{text[: end + 1]}{line}{newline}{text[end + 1 :]}"


def _dotted(keys: Keys) -> str:
    return ".".join(key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys)


def _literal(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
