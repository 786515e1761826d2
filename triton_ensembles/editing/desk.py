"""The files that an editor has open, and the repositories that they are in."""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from triton_ensembles.checking.fault import Fault, Place, Severity
from triton_ensembles.checking.repository_search import repository_around
from triton_ensembles.editing.edited import EditedRepository
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.model_config import CONFIG


class Desk:
    """``texts`` are those of the open files. Nothing is ever written."""

    def __init__(self) -> None:
        self.texts: dict[Path, str] = {}
        self.repositories: dict[Path, EditedRepository] = {}
        self._changed: dict[Path, set[str]] = defaultdict(set)  # in each repository, since it was checked
        self._stale: set[Path] = set()  # the repositories in which files were written

    def edit(self, path: Path, text: str | None, *, on_disk: bool = False) -> None:
        """Note the text of an open file, None for one that is closed; ``on_disk``: files may have changed too."""
        if text is None:
            self.texts.pop(path, None)
        else:
            self.texts[path] = text
        self.touch(path, on_disk=on_disk)

    def touch(self, path: Path, *, on_disk: bool) -> None:
        """Note that a file, or a folder, is not what it was."""
        known = self._root(path)
        root = (repository_around(path) if on_disk and path in self.texts else None) or known
        if root:
            self._changed[root].add(os.path.relpath(path, root))
            self._stale |= {root} if on_disk else set()
        if known and known != root:  # a model that was alone has got others beside it
            self.repositories.pop(known, None)

    def checked(self) -> Iterator[tuple[EditedRepository, dict[str, list[Fault]]]]:
        """Check what depends on the changes; yield each repository with the faults of every file that it has shown."""
        while self._changed:
            root, changed = self._changed.popitem()
            paths = [path for path in self.texts if path.is_relative_to(root)]
            inside = {os.path.relpath(path, root): self.texts[path] for path in paths}
            if not inside or not root.is_dir():
                if gone := self.repositories.pop(root, None):
                    yield gone, {}
                continue
            if root not in self.repositories:
                self.repositories[root] = EditedRepository(root)
                changed |= set(inside)
            elif root in self._stale:
                self.repositories[root].read()
            self._stale.discard(root)
            edited = self.repositories[root]
            edited.texts = inside
            yield edited, self._by_file(edited, changed)

    def find(self, path: Path) -> tuple[EditedRepository, str] | None:
        """Return the repository of an open file, and the file's path in it."""
        root = self._root(path)
        edited = self.repositories.get(root) if root else None
        return (edited, os.path.relpath(path, edited.path)) if edited else None

    def _root(self, path: Path) -> Path | None:
        inside = [root for root in {*self.repositories, *self._changed} if path.is_relative_to(root)]
        return max(inside, key=lambda root: len(root.parts), default=None)

    def _by_file(self, edited: EditedRepository, changed: set[str]) -> dict[str, list[Fault]]:
        by_file: dict[str, list[Fault]] = defaultdict(list)
        try:
            faults = edited.check(changed)
        except EnsembleError as error:  # a pyproject.toml that is wrong
            place = Place(str(error.path or edited.path / CONFIG), error.line or 0)
            faults = [Fault(Severity.ERROR, "settings", place, error.message, cure=error.cure)]
        for fault in sorted(faults, key=Fault.sort_key):
            by_file[edited.file_of(fault.place) or min(edited.texts)].append(fault)
        return by_file
