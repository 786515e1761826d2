"""The table of this project in a pyproject.toml, and which line of a TOML file names what."""

import os
import re
from pathlib import Path
from typing import Any

from triton_ensembles.ground.errors import EnsembleError

SETTINGS = "pyproject.toml"
TABLE = "triton-ensembles"
_LONGEST = 1 << 20  # bytes
_PART, _PART_OF_PATH = re.compile(r"[\w-]"), re.compile(r"[\w./-]")  # a letter of a longer name, or of a path


def settings_of(folder: Path) -> tuple[dict[str, Any], str] | None:
    """The table [tool.triton-ensembles] of the pyproject.toml in ``folder``, and the text of the file; None without.
    Raises :class:`EnsembleError`: the file cannot be read, or the table is none."""
    from triton_ensembles.ground.files import parse_toml, read_text  # few folders have such a file

    path = folder / SETTINGS
    if not os.path.lexists(path):
        return None
    text = read_text(path, _LONGEST)
    if TABLE not in text:
        return None
    tools = parse_toml(text, path).get("tool")
    table = tools.get(TABLE) if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise EnsembleError(f"{TABLE} must be a table", path=path, cure=f"write [tool.{TABLE}]")
    return (table, text) if table else None


def line_naming(text: str, names: list[str]) -> int | None:
    """The first line that contains the last of ``names`` that the text contains, best where no path goes on with it;
    TOML parsers keep no positions."""
    for name, part in ((name, part) for name in reversed(names) for part in (_PART_OF_PATH, _PART)):
        at = text.find(name)
        while name and at >= 0:
            end = at + len(name)
            if not (_PART.match(text[at - 1 : at]) or part.match(text[end : end + 1])):
                return text.count("\n", 0, at) + 1
            at = text.find(name, end)
    return None
