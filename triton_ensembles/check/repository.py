"""A model repository, in one of three forms, and the search for repositories below a path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from triton_ensembles.archive.folder import read_folder
from triton_ensembles.archive.tar import read_archive
from triton_ensembles.archive.tree import Tree, is_archive
from triton_ensembles.check.fault import Place
from triton_ensembles.check.form import Form
from triton_ensembles.check.model import Model
from triton_ensembles.check.source_form import SourceRecipe, read_source_recipe
from triton_ensembles.errors import shown as shown_path
from triton_ensembles.recipe.reader import RECIPE
from triton_ensembles.triton.model_config import CONFIG


@dataclass(frozen=True)
class Repository:
    path: Path
    shown: str
    form: Form
    tree: Tree

    def place(self, path: str = "") -> Place:
        """The place of a file or folder of the repository as a whole; inside an archive ``a.tar.gz!path``."""
        return Place(f"{self.shown}{self._separator}{path}" if path else self.shown)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """One for each folder, as Triton sees it; the repository itself when it has a config.pbtxt of its own."""
        if self.is_one_model:
            return (Model(self.path.resolve().name, "", self.shown, self),)
        names = self.tree.folders()
        if self.form is Form.SOURCE:
            names = [name for name in names if not name.startswith((".", "_"))]
        return tuple(Model(name, name, f"{self.shown}{self._separator}{name}", self) for name in names)

    @property
    def is_one_model(self) -> bool:
        return self.tree.get(CONFIG) is not None

    def model(self, name: str) -> Model | None:
        """The model that an ensemble's ``model_name`` means."""
        return self._by_name.get(name)

    @property
    def ensembles(self) -> list[Model]:
        return [model for model in self.models if model.is_ensemble]

    @cached_property
    def recipe(self) -> SourceRecipe | None:
        """What ensemble.toml says, for a folder of ensembles/."""
        entry = self.tree.get(RECIPE)
        return read_source_recipe(entry.text or "") if self.form is Form.SOURCE and entry else None

    @cached_property
    def _by_name(self) -> dict[str, Model]:
        return {model.folder: model for model in self.models}

    @property
    def _separator(self) -> str:
        return "!" if self.form is Form.ARCHIVE else "/"


def find_repositories(path: Path) -> Iterator[Repository]:
    """The repositories that ``path`` stands for.

    A file is an archive. A folder is one repository when it, or a folder in it, holds a config.pbtxt; otherwise each
    folder in it that does is one, and so is each .tar.gz in it. Nothing is yielded when there is none at all.
    """
    if not path.is_dir():
        yield Repository(path, shown_path(path), Form.ARCHIVE, read_archive(path))
    elif is_repository(path):
        form = Form.SOURCE if (path / RECIPE).is_file() else Form.FOLDER
        yield Repository(path, shown_path(path), form, read_folder(path))
    else:
        for child in sorted(path.iterdir()):
            if (child.is_dir() and is_repository(child)) or (child.is_file() and is_archive(child.name)):
                yield from find_repositories(child)


def is_repository(folder: Path) -> bool:
    """Whether ``folder`` is a model, holds one, or has a recipe."""
    if (folder / RECIPE).is_file() or (folder / CONFIG).is_file():
        return True
    return any(_is_model(child) for child in folder.iterdir() if child.is_dir())


def _is_model(folder: Path) -> bool:
    return (folder / CONFIG).exists() or any(path.name.isdecimal() and path.is_dir() for path in folder.iterdir())
