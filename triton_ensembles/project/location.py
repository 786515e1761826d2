"""The project that a command works on: the folder that holds ensembles/."""

import os
from pathlib import Path
from typing import Any

from triton_ensembles.ground.errors import EnsembleError, UsageError

ENSEMBLES = "ensembles"
FALLBACK = f"{__name__}.fallback"
"""Where click's ``context.meta`` has the project of those who are in none; ``context.obj`` has that of --project."""
SETTINGS = "pyproject.toml"
_TABLE = "triton-ensembles"
_LONGEST = 1 << 20  # bytes


def find_project(start: Path) -> Path | None:
    """The nearest project from ``start`` upward, or None.

    It is a folder that holds ensembles/, or the one that a pyproject.toml names::

        [tool.triton-ensembles]
        project = "serving"    # relative to the file

    Where both are in one folder, the file decides. Raises :class:`EnsembleError`: such a file cannot be read, or names
    a folder without ensembles/.
    """
    start = start.absolute()
    for folder in (start, *start.parents):
        if (named := _named_in(folder)) or os.path.isdir(folder / ENSEMBLES):  # noqa: PTH112 - never raises
            return named or folder
    return None


def chosen_project(folder: Path) -> Path:
    """The project that the user means by ``folder``: itself, or the one that its pyproject.toml names."""
    return _named_in(folder) or folder


def no_project(start: Path) -> UsageError:
    return UsageError(
        f"there is no project: neither {start} nor a folder above it holds {ENSEMBLES}/",
        cure=f"go to a project, name one by --project DIR or in {SETTINGS} ([tool.{_TABLE}] project), or give paths",
    )


def settings_of(folder: Path) -> tuple[dict[str, Any], str] | None:
    """The table [tool.triton-ensembles] of the pyproject.toml in ``folder``, and the text of the file; None without.
    Raises :class:`EnsembleError`: the file cannot be read, or the table is none."""
    from triton_ensembles.ground.files import parse_toml, read_text  # few folders have such a file

    path = folder / SETTINGS
    if not os.path.lexists(path):
        return None
    text = read_text(path, _LONGEST)
    if _TABLE not in text:
        return None
    tools = parse_toml(text, path).get("tool")
    table = tools.get(_TABLE) if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise EnsembleError(f"{_TABLE} must be a table", path=path, cure=f"write [tool.{_TABLE}]")
    return (table, text) if table else None


def _named_in(folder: Path) -> Path | None:
    table = settings_of(folder)
    named = table and table[0].get("project")
    if table is None or named is None:
        return None
    settings = folder / SETTINGS
    lines = enumerate(table[1].splitlines(), 1)
    line = next((number for number, line in lines if line.lstrip().startswith("project")), 1)
    if not isinstance(named, str):
        message = f"[tool.{_TABLE}] project must be a text"
        raise EnsembleError(message, path=settings, line=line, cure='write project = "FOLDER"')
    project = Path(os.path.normpath(folder / Path(named).expanduser()))
    if "\0" in named or not (project / ENSEMBLES).is_dir():
        message = f"[tool.{_TABLE}] project names {named!r}, which holds no {ENSEMBLES}/"
        cure = f"name the folder that holds {ENSEMBLES}/, relative to this file"
        raise EnsembleError(message, path=settings, line=line, cure=cure)
    return project
