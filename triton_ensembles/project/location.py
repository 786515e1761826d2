"""The project that a command works on: the folder that holds ensembles/."""

import os
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.ground.toml_tables import SETTINGS, TABLE, settings_of

ENSEMBLES = "ensembles"
FALLBACK = f"{__name__}.fallback"
"""Where click's ``context.meta`` has the project of those who are in none; ``context.obj`` has that of --project."""


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
        cure=f"go to a project, name one by --project DIR or in {SETTINGS} ([tool.{TABLE}] project), or give paths",
    )


def _named_in(folder: Path) -> Path | None:
    table = settings_of(folder)
    named = table and table[0].get("project")
    if table is None or named is None:
        return None
    settings = folder / SETTINGS
    lines = enumerate(table[1].splitlines(), 1)
    line = next((number for number, line in lines if line.lstrip().startswith("project")), 1)
    if not isinstance(named, str):
        message = f"[tool.{TABLE}] project must be a text"
        raise EnsembleError(message, path=settings, line=line, cure='write project = "FOLDER"')
    project = Path(os.path.normpath(folder / Path(named).expanduser()))
    if "\0" in named or not (project / ENSEMBLES).is_dir():
        message = f"[tool.{TABLE}] project names {named!r}, which holds no {ENSEMBLES}/"
        cure = f"name the folder that holds {ENSEMBLES}/, relative to this file"
        raise EnsembleError(message, path=settings, line=line, cure=cure)
    return project
