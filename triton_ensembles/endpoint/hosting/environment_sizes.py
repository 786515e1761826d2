"""Disk space of the environments that Triton has unpacked into /tmp."""

import os
from collections.abc import Iterable
from pathlib import Path

_BLOCK = 512  # bytes; of st_blocks


class EnvironmentSizes:
    """Measures each unpacked environment once: Triton does not change one, but replaces it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], int] = {}

    def total(self, folders: Iterable[Path]) -> int:
        """Bytes on the disk of everything in ``folders``, while nothing is being unpacked there; 0 for missing ones."""
        sizes: dict[tuple[str, int, int], int] = {}
        for folder in folders:
            for entry in _entries(folder):
                facts = entry.stat(follow_symlinks=False)
                key = (entry.path, facts.st_ino, facts.st_ctime_ns)
                sizes[key] = self._known[key] if key in self._known else _bytes_of(entry)
        self._known = sizes
        return sum(sizes.values())


def _bytes_of(entry: os.DirEntry[str]) -> int:
    own = entry.stat(follow_symlinks=False).st_blocks * _BLOCK
    if not entry.is_dir(follow_symlinks=False):
        return own
    return own + sum(map(_bytes_of, _entries(Path(entry.path))))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:  # the server has just removed it
        return []
