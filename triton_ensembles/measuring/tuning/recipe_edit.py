"""Sets values of an ensemble.toml in its text: everything else, comments too, stays as it is.

tomlkit keeps comments and layout. Each edit is read back with tomllib, and one that changed anything else is refused.
"""

import copy
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import parse_toml

Keys = tuple[str, ...]


def edit_recipe(text: str, path: Path, values: Mapping[Keys, str | int]) -> str:
    """The text with each value at its keys; a table that is missing is added.

    Raises:
        EnsembleError: the text is not TOML, or says it in a way that cannot be edited; it names the file.
    """
    recipe = parse_toml(text, path)
    for keys, value in values.items():
        edited = copy.deepcopy(recipe)
        table = edited
        try:
            for key in keys[:-1]:
                table = table.setdefault(key, {})
            table[keys[-1]] = value
            if edited == recipe:
                continue
            text = _with_value(text, keys, value)
            recipe = tomllib.loads(text)
        except (AttributeError, TypeError, tomllib.TOMLDecodeError, TOMLKitError):
            recipe = {}
        if recipe != edited:
            message = f"{'.'.join(keys)} cannot be set to {value} in this text"
            raise EnsembleError(message, path=path, cure="write it by hand")
    return text


def _with_value(text: str, keys: Keys, value: str | int) -> str:
    document = tomlkit.parse(text)
    table: Any = document
    while len(keys) > 1 and keys[0] in table:
        table, keys = table[keys[0]], keys[1:]
    item: Any = value
    for key in reversed(keys[1:]):
        inner = tomlkit.inline_table() if isinstance(table, InlineTable) else tomlkit.table()
        item = inner.append(key, item)
    following = _take_comments(table) if isinstance(table, Table) and keys[0] not in table else []
    table[keys[0]] = item
    _last_body(table).extend(following)
    edited = tomlkit.dumps(document)
    has_line_feeds = re.search(r"(?<!\r)\n", text) or "\r\n" not in text
    return edited if has_line_feeds else re.sub(r"(?<!\r)\n", "\r\n", edited)


def _last_body(table: Any) -> list[Any]:
    """The keys and items of the table that is written last in ``table``, which may be itself."""
    while isinstance(table, Table) and table.value.body and isinstance(table.value.body[-1][1], Table):
        table = table.value.body[-1][1]
    return table.value.body if isinstance(table, Table) else []


def _take_comments(table: Table) -> list[Any]:
    """The blank lines and comments at the end of a table, which are about what comes after it."""
    body = _last_body(table)
    comments: list[Any] = []
    while body and body[-1][0] is None:
        comments.insert(0, body.pop())
    return comments
