"""The project that a command works on: the folder that holds ensembles/."""

import os
from pathlib import Path

from triton_ensembles.errors import EnsembleError

ENSEMBLES = "ensembles"
FALLBACK = f"{__name__}.fallback"
"""Where click's ``context.meta`` has the project of those who are in none; ``context.obj`` has that of --project."""
_SETTINGS = "pyproject.toml"
_TABLE = "triton-ensembles"


def find_project(start: Path) -> Path | None:
    """The nearest project from ``start`` upward, or None.

    It is a folder that holds ensembles/, or the one that a pyproject.toml names::

        [tool.triton-ensembles]
        project = "serving"    # relative to the file

    Where both are in one folder, the file decides.

    Raises:
        EnsembleError: such a file cannot be read, or names a folder without ensembles/.
    """
    start = start.absolute()
    for folder in (start, *start.parents):
        if (named := _named_in(folder / _SETTINGS)) or os.path.isdir(folder / ENSEMBLES):  # noqa: PTH112 - never raises
            return named or folder
    return None


def chosen_project(folder: Path) -> Path:
    """The project that the user means by ``folder``: itself, or the one that its pyproject.toml names."""
    return _named_in(folder / _SETTINGS) or folder


def no_project(start: Path) -> EnsembleError:
    return EnsembleError(
        f"there is no project: neither {start} nor a folder above it holds {ENSEMBLES}/",
        cure=f"go to a project, name one by --project DIR or in {_SETTINGS} ([tool.{_TABLE}] project), or give paths",
    )


def _named_in(settings: Path) -> Path | None:
    try:
        text = settings.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if f"tool.{_TABLE}" not in text:
        return None
    import tomllib  # few folders have such a file

    try:
        named = tomllib.loads(text).get("tool", {}).get(_TABLE, {}).get("project")
    except tomllib.TOMLDecodeError as error:
        raise EnsembleError(f"this is not TOML: {error}", path=settings) from error
    if named is None:
        return None
    line = next((number for number, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("project")), 1)
    if not isinstance(named, str):
        message = f"[tool.{_TABLE}] project must be a text"
        raise EnsembleError(message, path=settings, line=line, cure='write project = "FOLDER"')
    project = Path(os.path.normpath(settings.parent / Path(named).expanduser()))
    if not (project / ENSEMBLES).is_dir():
        raise EnsembleError(
            f"[tool.{_TABLE}] project names {named!r}, which holds no {ENSEMBLES}/",
            path=settings,
            line=line,
            cure=f"name the folder that holds {ENSEMBLES}/, relative to this file",
        )
    return project
