"""The repositories that the open files of an editor are in."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from triton_ensembles.checking.fault import Fault, Place, Severity
from triton_ensembles.checking.repository_search import repository_around
from triton_ensembles.editing.edited import EditedRepository
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.model_config import CONFIG


class Desk:
    """``texts`` returns those of the open files. Nothing is ever written."""

    def __init__(self, texts: Callable[[], Mapping[Path, str]]) -> None:
        self._texts = texts
        self._repositories: dict[Path, EditedRepository] = {}

    def write(self, path: Path) -> None:
        """Note that a file, or a folder, may not be what it was; one that is open may be in another repository."""
        known = self._around(path)
        root = repository_around(path) if path in self._texts() else None
        if known and root and known.path != root:  # a model that was alone has got others beside it
            del self._repositories[known.path]
        if root and root not in self._repositories:
            self._repositories[root] = EditedRepository(root)
        if edited := self._repositories.get(root) if root else known:
            edited.written.add(os.path.relpath(path, edited.path))

    def checked(self) -> Iterator[tuple[EditedRepository, dict[str, list[Fault]]]]:
        """Check what depends on changes; yield each changed repository with the faults of every file that it shows."""
        open_texts = self._texts()
        for root, edited in [*self._repositories.items()]:
            texts = {os.path.relpath(path, root): text for path, text in open_texts.items() if root in path.parents}
            if not texts or not root.is_dir():
                del self._repositories[root]
                yield edited, {}
            elif edited.written or texts != edited.texts:
                yield edited, self._by_file(edited, texts)

    def find(self, path: Path) -> tuple[EditedRepository, str] | None:
        """Return the repository of an open file, and the file's path in it."""
        edited = self._around(path)
        return (edited, os.path.relpath(path, edited.path)) if edited else None

    def _around(self, path: Path) -> EditedRepository | None:
        inside = [edited for root, edited in self._repositories.items() if path.is_relative_to(root)]
        return max(inside, key=lambda edited: len(edited.path.parts), default=None)

    def _by_file(self, edited: EditedRepository, texts: Mapping[str, str]) -> dict[str, list[Fault]]:
        by_file: dict[str, list[Fault]] = defaultdict(list)
        try:
            faults = edited.check(texts)
        except EnsembleError as error:  # a pyproject.toml that is wrong
            place = Place(str(error.path or edited.path / CONFIG), error.line or 0)
            faults = [Fault(Severity.ERROR, "settings", place, error.message, cure=error.cure)]
        for fault in sorted(faults, key=Fault.sort_key):
            by_file[edited.file_of(fault.place) or min(texts)].append(fault)
        return by_file
