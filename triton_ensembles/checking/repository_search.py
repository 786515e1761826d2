"""Where model repositories lie below a folder, such as the root of somebody's git repository."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from triton_ensembles.triton.model_config import CONFIG

_DEEPEST = 6  # folders between the one that is named and a repository
_MOST_FOLDERS = 20_000
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"})


def repository_folders(path: Path, is_other: Callable[[Path], bool] = lambda _: False) -> Iterator[Path]:
    """The folders at and below ``path`` that are a model, have one, or are another kind of repository, the nearest
    first; none is inside of a model. Hidden folders, those of tools and what links lead to are not searched."""
    waiting, seen = [(path, 0)], 0
    while waiting:
        folder, depth = waiting.pop(0)
        inside = folders_in(folder)
        seen += len(inside)
        if is_other(folder) or holds_model(folder):
            yield folder
            continue
        others = [child for child in inside if not holds_model(child)]
        if len(others) < len(inside):
            yield folder
        if depth < _DEEPEST and seen < _MOST_FOLDERS:
            searched = (child for child in others if child.name not in _SKIPPED and not child.is_symlink())
            waiting += [(child, depth + 1) for child in searched]


def holds_model(folder: Path) -> bool:
    """Return whether the folder is that of a model: with a config.pbtxt, or a version that has a model file."""
    if (folder / CONFIG).is_file():
        return True
    return any(child.name.isdecimal() and any(child.glob("model.*")) for child in folders_in(folder))


def folders_in(path: Path) -> list[Path]:
    """The visible folders in a folder that can be read."""
    try:
        with os.scandir(path) as children:
            return sorted(Path(child.path) for child in children if child.is_dir() and not child.name.startswith("."))
    except OSError:
        return []
