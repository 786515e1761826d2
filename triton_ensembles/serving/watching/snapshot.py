"""The files of a folder as they are now, by time stamp, size and inode; those that editors leave for a moment are no
part of it."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

Snapshot = Mapping[str, tuple[int, int, int]]
"""The time stamp in nanoseconds, the size and the inode of each file, by its path with ``/``."""

_IGNORED = re.compile(
    r"""\..* | .*~ | \#.*\# | .*\.(swp|swx|swo|tmp|part|partial|pyc|crdownload) | .*___jb_(tmp|old)___ | 4913
    | __pycache__ | .*\.goutputstream-\w+""",
    re.VERBOSE,
)


def snapshot(root: Path) -> Snapshot:
    """The file at ``root``, as ``""``, or each file below the folder there. Links to folders are followed, once."""
    stamps: dict[str, tuple[int, int, int]] = {}
    seen: set[tuple[int, int]] = set()
    waiting = [("", os.fspath(root))]
    while waiting:
        inner, path = waiting.pop()
        try:
            facts = os.stat(path)  # noqa: PTH116 - of thousands of files, twice a second
            if not os.path.isdir(path):  # noqa: PTH112
                stamps[inner] = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
            elif (facts.st_dev, facts.st_ino) not in seen:
                seen.add((facts.st_dev, facts.st_ino))
                with os.scandir(path) as entries:
                    names = [entry.name for entry in entries if not _IGNORED.fullmatch(entry.name)]
                if not names and inner.rpartition("/")[2].isdecimal():  # without its empty one, no ensemble loads
                    stamps[f"{inner}/"] = (0, 0, 0)
                waiting += [(f"{inner}/{name}" if inner else name, f"{path}/{name}") for name in names]
        except OSError:  # gone meanwhile, or a link to nothing
            continue
    return stamps


def changes(before: Snapshot, now: Snapshot) -> list[str]:
    """The paths that are new, gone or different."""
    return sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


def models_of(paths: Iterable[str]) -> dict[str, list[str]]:
    """The paths in a model repository by the model they belong to; files at its root belong to none."""
    paths_by_model: dict[str, list[str]] = {}
    for path in paths:
        model, slash, _ = path.partition("/")
        if slash:
            paths_by_model.setdefault(model, []).append(path)
    return paths_by_model
