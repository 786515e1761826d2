"""Where faults are, for programs: relative to the root of the git repository, as the services that read them expect."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from triton_ensembles.checking.fault import Fault


@dataclass(frozen=True)
class FilePlace:
    """A place on disk, or inside an archive."""

    path: str  # of a file or folder on disk, relative to the root of the git repository; absolute outside it
    member: str  # the path inside of an archive, or what the fault is about when that is no file; else ""
    line: int  # from 1; 0 for a file as a whole, and inside an archive
    column: int


class FilePlaces:
    """The places of faults in a git repository, or in the working folder where there is none; ``roots`` are the
    repositories that were looked at, as people see them."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self._roots = roots
        self._split: dict[str, tuple[str, str]] = {}

    def of(self, fault: Fault) -> FilePlace:
        place = fault.place
        if place.path not in self._split:
            self._split[place.path] = self._on_disk(place.path)
        path, member = self._split[place.path]
        return FilePlace(path, member, *((0, 0) if member else (place.line, place.column)))

    def relative(self, path: str) -> str:
        """``path`` as seen from the root of the git repository; an absolute path outside it."""
        whole = os.path.normpath(Path.cwd() / path)
        inside = os.path.commonpath((whole, self._base)) == self._base
        return os.path.relpath(whole, self._base) if inside else whole

    @cached_property
    def _base(self) -> str:
        here = Path.cwd()
        return os.fspath(next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here))

    def _on_disk(self, path: str) -> tuple[str, str]:
        """The file on disk and the member in it: ``dist/a.tar.gz`` and ``step/config.pbtxt``."""
        for position, letter in enumerate(path):
            if letter in "!/" and path[:position] and Path(path[:position]).is_file():
                return self.relative(path[:position]), path[position + 1 :]
        if os.path.lexists(path) or any(path.startswith(f"{root}/") for root in self._roots):
            return self.relative(path), ""
        return self.relative(self._roots[0]), path  # an instance type or an image
