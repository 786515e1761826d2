"""A folder on disk as a :class:`Tree`. Links to folders are listed, not followed; nothing is executed or imported."""

import os
import stat
from dataclasses import replace
from functools import cache
from pathlib import Path

from triton_ensembles.archive.tar import read_archive
from triton_ensembles.archive.tree import (
    CONFIG_SUFFIX,
    MOST_ENTRIES,
    Entry,
    Kind,
    Problem,
    Tree,
    is_archive,
    is_text,
    join,
    text_budgets,
)

# Files of other tools. Triton ignores what is in them, but not the folders themselves: it takes them for models.
_SKIPPED = frozenset({".git", "__pycache__", ".ipynb_checkpoints", ".DS_Store"})


def read_folder(root: Path) -> Tree:
    """Every entry below ``root``; each that cannot be read becomes a :class:`Problem`."""
    members: list[Entry] = []
    problems: list[Problem] = []
    budgets = text_budgets()
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            found = sorted(os.scandir(root / folder), key=lambda item: item.name)
        except OSError as error:
            problems.append(_unreadable(folder, error))
            continue
        for item in found:
            path = join(folder, item.name)
            if len(members) >= MOST_ENTRIES:
                message = f"there are more than {MOST_ENTRIES} files and folders here; the rest is not checked"
                problems.append(Problem("repository-too-large", "", message))
                return Tree(members, problems)
            entry = _entry(item, path)
            if item.name in _SKIPPED:
                if entry.is_folder:
                    members.append(entry)
                continue
            if entry.kind is Kind.FOLDER:
                waiting.append(path)
            elif entry.size <= budgets[path.endswith(CONFIG_SUFFIX)] and is_text(path, entry.size) and _is_file(item):
                try:
                    data = Path(item.path).read_bytes()
                except OSError as error:
                    problems.append(_unreadable(path, error))
                else:
                    budgets[path.endswith(CONFIG_SUFFIX)] -= len(data)
                    entry = replace(entry, data=data, size=len(data))
            members.append(entry)

    @cache
    def nested(path: str) -> Tree | None:
        return read_archive(root / path) if is_archive(path) and (root / path).is_file() else None

    return Tree(members, problems, nested)


def _entry(item: os.DirEntry[str], path: str) -> Entry:
    try:
        status = item.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            size = Path(item.path).stat().st_size if _is_file(item) else 0
            return Entry(path, Kind.SYMLINK, size, path, str(Path(item.path).readlink()), leads_to_folder=item.is_dir())
    except OSError:
        return Entry(path, Kind.OTHER, written=path)
    if stat.S_ISDIR(status.st_mode):
        return Entry(path, Kind.FOLDER, written=path, mode=stat.S_IMODE(status.st_mode))
    if stat.S_ISREG(status.st_mode):
        return Entry(path, Kind.FILE, status.st_size, path, mode=stat.S_IMODE(status.st_mode))
    return Entry(path, Kind.OTHER, written=path)


def _is_file(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_file()
    except OSError:
        return False


def _unreadable(path: str, error: OSError) -> Problem:
    return Problem("file-unreadable", path, f"this cannot be read: {error.strerror or error}")
