"""A folder on disk as a :class:`Tree`. Nothing is executed or imported.

Links to models, to versions and to what lies in a version are followed, as Triton does; other links to folders, which
environments have, and those to a folder that they lie in are listed only.
"""

import os
import stat
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

from triton_ensembles.archive.budget import ArchiveError, Budget
from triton_ensembles.archive.tar import read_archive
from triton_ensembles.archive.tree import CONFIG_SUFFIX, Entry, Kind, Problem, Tree, is_archive, is_text, join

# Files of other tools. Triton ignores what is in them, but not the folders themselves: it takes them for models.
_SKIPPED = frozenset({".git", "__pycache__", ".ipynb_checkpoints", ".DS_Store"})
_KINDS = {stat.S_IFDIR: Kind.FOLDER, stat.S_IFREG: Kind.FILE}


def read_folder(root: Path) -> Tree:
    """Every entry below ``root``; each that cannot be read becomes a :class:`Problem`."""
    members: list[Entry] = []
    problems: list[Problem] = []
    budget = Budget()
    waiting = [""]
    try:
        while waiting:
            folder = waiting.pop()
            try:
                entries = _listed(root / folder, budget.entries)
            except OSError as error:
                problems.append(_unreadable(folder, error))
                continue
            for item in entries:
                path = join(folder, item.name)
                budget.take_entry(path)
                entry = _entry(item, path)
                try:
                    entry = _read(item, entry, budget)
                except OSError as error:
                    problems.append(_unreadable(path, error))
                if item.name not in _SKIPPED and (entry.kind is Kind.FOLDER or _is_followed(entry, item)):
                    waiting.append(path)
                members.append(entry)
    except ArchiveError as error:
        return Tree((), [Problem("repository-too-large", "", error.message)])

    @cache
    def nested(path: str) -> Tree | None:
        return read_archive(root / path, plain=True) if is_archive(path) and (root / path).is_file() else None

    return Tree(members, problems, nested)


def _listed(folder: Path, most: int) -> list[os.DirEntry[str]]:
    """Entries of ``folder``, sorted, without files of other tools; no more than one above ``most``."""
    with os.scandir(folder) as items:
        entries = islice((item for item in items if item.name not in _SKIPPED or item.is_dir()), most + 1)
        return sorted(entries, key=lambda item: item.name)


def _read(item: os.DirEntry[str], entry: Entry, budget: Budget) -> Entry:
    """The entry with its text, if it is one that is kept."""
    is_config = entry.path.endswith(CONFIG_SUFFIX)
    if not (is_text(entry.path, entry.size) and _is_file(item) and budget.take_text(entry.size, is_config=is_config)):
        return entry
    with Path(item.path).open("rb") as file:
        data = file.read(entry.size)  # it may grow, and files of /proc have no size
    if is_config:
        budget.take_config(data)
    return replace(entry, data=data, size=len(data))


def _entry(item: os.DirEntry[str], path: str) -> Entry:
    try:
        status = item.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            if not item.is_dir() and not item.is_file() and Path(item.path).exists():
                return Entry(path, Kind.OTHER, written=path)  # to a device or a pipe
            size = Path(item.path).stat().st_size if _is_file(item) else 0
            return Entry(path, Kind.SYMLINK, size, path, str(Path(item.path).readlink()), leads_to_folder=item.is_dir())
    except OSError:
        return Entry(path, Kind.OTHER, written=path)
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), Kind.OTHER)
    size = status.st_size if kind is Kind.FILE else 0
    return Entry(path, kind, size, path, mode=stat.S_IMODE(status.st_mode))


def _is_followed(entry: Entry, link: os.DirEntry[str]) -> bool:
    if not entry.leads_to_folder:
        return False
    *above, _ = entry.path.split("/")
    is_of_model = len(above) < 2 or above[-1].isdecimal()
    return is_of_model and not Path(link.path).parent.resolve().is_relative_to(Path(link.path).resolve())


def _is_file(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_file()
    except OSError:
        return False


def _unreadable(path: str, error: OSError) -> Problem:
    return Problem("file-unreadable", path, f"this cannot be read: {error.strerror or error}")
