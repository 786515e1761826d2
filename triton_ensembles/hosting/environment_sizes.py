"""Disk space of the environments that Triton has unpacked into /tmp."""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

_BLOCK = 512  # bytes; of st_blocks
_SETTLED_SECONDS = 10.0  # in which nothing of an environment has changed, so that it is no longer being unpacked


class EnvironmentSizes:
    """Measures each unpacked environment until it is complete: Triton does not change one, but replaces it."""

    def __init__(self) -> None:
        self._complete: dict[tuple[str, int, int], int] = {}

    def total(self, folders: Iterable[Path]) -> int:
        """Bytes on the disk of everything in ``folders`` by now; 0 for missing ones."""
        total, complete = 0, {}
        settled = time.time() - _SETTLED_SECONDS
        for folder in folders:
            for entry in _entries(folder):
                with contextlib.suppress(FileNotFoundError):  # the server has just removed it
                    facts = entry.stat(follow_symlinks=False)
                    key = (entry.path, facts.st_ino, facts.st_ctime_ns)
                    size, changed = (self._complete[key], 0.0) if key in self._complete else _measured(entry)
                    total += size
                    if changed < settled:
                        complete[key] = size
        self._complete = complete
        return total


def _measured(entry: os.DirEntry[str]) -> tuple[int, float]:
    """Bytes on the disk, and when the last of them was written."""
    facts = entry.stat(follow_symlinks=False)
    size, changed = facts.st_blocks * _BLOCK, facts.st_ctime
    for inner in _entries(Path(entry.path)) if entry.is_dir(follow_symlinks=False) else ():
        with contextlib.suppress(FileNotFoundError):
            more, later = _measured(inner)
            size, changed = size + more, max(changed, later)
    return size, changed


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
