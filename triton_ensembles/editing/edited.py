"""A repository of which some files are open in an editor: their texts win over the files."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from triton_ensembles.checking.checker import found_in, that_count
from triton_ensembles.checking.fault import Fault, Place
from triton_ensembles.checking.fixes import exact_fixes
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.repository_search import read_repository
from triton_ensembles.editing.related import related
from triton_ensembles.triton.model_config import CONFIG


class EditedRepository:
    """The repository in the folder ``path``; ``texts`` are those of the open files, by their paths within it, and
    ``written`` the files that may be others since the folder was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts: Mapping[str, str] = {}
        self.written: set[str] = set()
        self.faults: list[Fault] = []
        self._found: dict[str, frozenset[Fault]] = {}  # in each model that was looked at
        self.repository = self._saved = read_repository(path)

    def check(self, texts: Mapping[str, str]) -> list[Fault]:
        """Return the faults that count with these texts of the open files."""
        changed = {path for path in {*texts, *self.texts} if texts.get(path) != self.texts.get(path)} | self.written
        if self.written:  # also by others
            self._saved = replace(read_repository(self.path), configs=self._saved.configs)
        self.texts, self.written = dict(texts), set()
        before, self.repository = self.repository, self._saved.with_texts(self.texts)
        models = {model.folder: model for model in self.repository.models_read}
        stale = {folder for path in changed for folder in self._folders(path, models)}
        stale = related(before, stale) | related(self.repository, stale)
        self._found = {folder: faults for folder, faults in self._found.items() if folder in models}
        self._found.update({folder: found_in(model) for folder, model in models.items() if folder in stale})
        self.faults = that_count(self.repository, frozenset().union(*self._found.values()))
        return self.faults

    def fixed(self, faults: Iterable[Fault]) -> tuple[Fault, ...]:
        """Return those of ``faults`` whose edits are proven to be exact, as ``check --fix`` proves them."""
        return exact_fixes([self.repository], faults, lambda changed: _faults(changed[0], self._found)).faults

    def model_of(self, path: str) -> Model | None:
        """Return the model that the file at ``path``, within the repository, belongs to."""
        if self.repository.is_one_model:
            return self.repository.models_read[0]
        return next((model for model in self.repository.models_read if path.startswith(f"{model.root}/")), None)

    def file_of(self, place: Place) -> str:
        """Return the file that shows a fault at ``place``: of a folder its config.pbtxt; "" where there is none."""
        path = os.path.relpath(os.path.abspath(place.path), self.path)  # noqa: PTH100 - which follows no links
        entry = self.repository.tree.get(path)
        path = path if entry is None or not entry.is_folder else f"{path}/{CONFIG}"
        return path if self.repository.tree.get(path) or (self.path / path).is_file() else ""

    def text_of(self, path: str) -> str:
        """Return the text of a file, as it is typed where it is open; "" for one that is no text."""
        entry = self.repository.tree.get(path)
        return self.texts.get(path, (entry.text if entry else None) or "")

    def _folders(self, path: str, models: Iterable[str]) -> Iterable[str]:
        """Return the models that a file is about. One beside them may be about all: a recipe is, and for others it is
        enough to look again at the models that somebody works at."""
        if model := self.model_of(path):
            return [model.folder]
        return models if self.repository.builds else self._found


def _faults(repository: Repository, folders: Collection[str]) -> list[Fault]:
    models = (model for model in repository.models_read if model.folder in folders)
    return that_count(repository, [fault for model in models for fault in found_in(model)])
