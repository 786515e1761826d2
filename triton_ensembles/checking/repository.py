"""A model repository as the rules see it, its models, and the search for repositories below a path."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from triton_ensembles.archive.tree import Entry, Tree, join
from triton_ensembles.checking.backend import Backend, choose_backend, completes, left_out
from triton_ensembles.checking.config_file import ConfigFile
from triton_ensembles.checking.extensions import Build, SourceForm, source_forms
from triton_ensembles.checking.fault import Place
from triton_ensembles.checking.text.parsed import Path as FieldPath
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.triton.model_config import CONFIG, ModelConfig
from triton_ensembles.triton.requirements import Declared

_Result = TypeVar("_Result")
# core r24.10 model_lifecycle.cc VersionsToLoad: folders of a model that are not versions.
NOT_VERSIONS = ("warmup", "initial_state", "configs")
_NUMBER = re.compile(r"\s*[+-]?\d+")  # std::stoll: leading blanks and a sign are taken, and what follows is ignored


class Form(StrEnum):
    """How a model repository is stored."""

    FOLDER = "folder"  # a model repository as Triton reads it
    ARCHIVE = "archive"  # what SageMaker downloads and unpacks
    SOURCE = "source"  # a folder of ensembles/: the build renames its models and makes their files


@dataclass(frozen=True)
class Model:
    """A model folder: its name, which is the model's name for Triton, its path within the tree (``root``, "" when the
    repository itself is the one model), and the path that people see (``shown``)."""

    folder: str
    root: str
    shown: str
    repository: Repository = field(repr=False, compare=False)

    @cached_property
    def left_out(self) -> tuple[FieldPath, ...]:
        """The paths of the config that are not given and that Triton may complete."""
        return tuple(left_out(self.file.config, self.backend, self.tree, self.root)) if self.is_completed else ()

    @property
    def tree(self) -> Tree:
        """The files of the whole repository."""
        return self.repository.tree

    @cached_property
    def config(self) -> ModelConfig:
        """The ModelConfig that Triton uses, empty when there is no config.pbtxt (see :attr:`has_config`). Reading a
        part that could not be parsed, or that Triton completes, raises UnknownValueError, which ends the rule."""
        return self.file.known(set(self.left_out))

    @cached_property
    def written(self) -> ModelConfig:
        """The ModelConfig as the text has it; reading what could not be parsed also raises."""
        return self.file.known()

    @property
    def has_config(self) -> bool:
        return self.get(CONFIG) is not None

    @cached_property
    def file(self) -> ConfigFile:
        entry = self.tree.get(join(self.root, CONFIG))
        missing = "" if self.tree.complete else None
        content = entry.text if entry else missing
        form, recipe = self.repository.source_form, self.repository.recipe
        added = {}
        if content and form and recipe:
            path = self.repository.place(form.recipe).path
            parameters = recipe.parameters_of(self.folder).items()
            added = {key: (value, Place(path, line)) for key, (value, line) in parameters}
        return self.repository.read_once(ConfigFile(f"{self.shown}/{CONFIG}", content, added))

    def at(self, *path: str | int | bool) -> Place:
        """The place of a field of config.pbtxt; see :meth:`ConfigFile.at`."""
        return self.file.at(*path)

    def place(self, path: str = "") -> Place:
        """The place of a file or folder of the model as a whole."""
        return Place(join(self.shown, path) if path else self.shown)

    def get(self, path: str) -> Entry | None:
        """The entry at ``path`` within the model's folder. Raises UnknownValueError when it may not have been read."""
        entry = self.tree.get(join(self.root, path))
        if entry is None and not self.tree.complete:
            raise UnknownValueError
        return entry

    def named(self, name: str) -> Entry | None:
        """The entry that a config names; core joins the path to the model's folder also where it begins with /.
        Raises UnknownValueError when it is not in the repository, or may not have been read."""
        path = posixpath.normpath(join(self.root, name.lstrip("/")))
        entry = self.tree.get(path)
        if path.startswith("..") or (entry is None and not self.tree.complete):
            raise UnknownValueError
        return entry

    def children(self, folder: str = "") -> list[str]:
        return self.tree.children(join(self.root, folder) if folder else self.root)

    @property
    def name(self) -> str:
        """The name the model goes by: the config may leave it out, or be unreadable."""
        with suppress(UnknownValueError):
            return self.config.name or self.folder
        return self.folder

    @property
    def is_ensemble(self) -> bool:
        return bool(self.written.HasField("ensemble_scheduling")) or self.written.platform == "ensemble"

    @cached_property
    def backend(self) -> Backend:
        """The backend, platform and file that Triton chooses."""
        return choose_backend(self.written, self.tree, self.root, self.folder, lambda: self.is_ensemble)

    @cached_property
    def versions(self) -> dict[int, str]:
        """Version numbers and the names of their folders, as core r24.10 VersionsToLoad finds them; in ensembles/ those
        that the build makes also count. Raises UnknownValueError when not all were read."""
        if not self.tree.complete:
            raise UnknownValueError
        versions: dict[int, str] = {}
        for name in self.tree.folders(self.root):
            if name in NOT_VERSIONS or (len(name) > 1 and name.startswith("0")):
                continue
            if match := _NUMBER.match(name[:40]):
                number = int(match.group())
                if -(2**63) <= number < 2**63:
                    versions.setdefault(number, name)
        recipe = self.repository.recipe
        for name in recipe.versions_of(self.folder) if recipe else ():
            versions.setdefault(int(name), name)
        if (recipe or self.repository.is_laid_out) and not versions and self.is_ensemble:
            versions[1] = "1"  # it is empty, and git keeps no empty folders: the archive has it
        return versions

    def has_library(self, name: str) -> bool:
        """Return whether the model's folder, or one of its version folders, has the library ``name``."""
        return any(name in self.children(folder) for folder in ("", *self.versions.values()))

    @property
    def is_python(self) -> bool:
        """Return whether the Python backend runs this model."""
        return self.backend.name == "python"

    def is_made(self, path: str) -> bool:
        """Return whether the build makes the file or folder at ``path`` within the model's folder."""
        recipe = self.repository.recipe
        return recipe is not None and recipe.makes(join(self.folder, path))

    @property
    def is_version_made(self) -> bool:
        """Return whether the build puts a file into a version folder of the model."""
        recipe = self.repository.recipe
        return recipe is not None and recipe.makes_version_of(self.folder)

    @cached_property
    def served_versions(self) -> list[int]:
        """The versions that the version policy picks, the newest first."""
        newest_first = sorted(self.versions, reverse=True)
        policy = self.config.version_policy
        kind = policy.WhichOneof("policy_choice")
        if kind == "specific":
            chosen = set(policy.specific.versions)
            return [number for number in newest_first if number in chosen]
        if kind == "all":
            return newest_first
        # A version_policy { } without a choice is neither: core then takes all of them.
        if kind is None and self.config.HasField("version_policy"):
            return newest_first
        # latest { } without a number means num_versions 0, that is, none.
        return newest_first[: policy.latest.num_versions if kind == "latest" else 1]

    @cached_property
    def declared(self) -> Declared | None:
        """The packages that are declared for this Python step, which are put beside its model.py."""
        if self.repository.form is not Form.FOLDER:
            return None
        folder = self.repository.path / self.root
        return self.repository.asked(next(filter(None, (form.declared(folder) for form in source_forms())), None))

    @cached_property
    def is_completed(self) -> bool:
        """Return whether Triton asks the backend for inputs, outputs and more of what the config lacks."""
        if self.repository.builds:
            return False
        try:
            backend = self.backend  # which may be unknown, also of an ensemble
            return not self.is_ensemble and completes(self.written, backend, self.tree, self.root)
        except UnknownValueError:
            return True


@dataclass(frozen=True)
class Repository:
    """A model repository: the ``path`` of the folder or archive on disk and as people see it (``shown``), its files,
    and what is read from them only once (``cache``). ``configs`` has the latest of each path, also of earlier texts."""

    path: Path
    shown: str
    form: Form
    tree: Tree
    cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    configs: dict[str, ConfigFile] = field(default_factory=dict, repr=False, compare=False)
    asked: Callable[[Declared | None], Declared | None] = lambda found: found
    """Makes of what is declared for a step what the command line asks for."""
    is_laid_out: bool = False  # whether an ensemble is given the empty version folder that git dropped

    def once(self, key: str, make: Callable[[], _Result]) -> _Result:
        """The result of ``make``, which is kept in the cache under ``key``."""
        if key not in self.cache:
            self.cache[key] = make()
        result: _Result = self.cache[key]
        return result

    def with_texts(self, texts: Mapping[str, str]) -> Repository:
        """The repository as it would be if the files at these paths had these texts."""
        return replace(self, tree=self.tree.with_texts(texts), cache={})

    def read_once(self, file: ConfigFile) -> ConfigFile:
        """``file``, or an equal one that may have been parsed: parsing is most of what reading a repository takes."""
        if self.configs.get(file.shown) != file:
            self.configs[file.shown] = file
        return self.configs[file.shown]

    def place(self, path: str = "") -> Place:
        """The place of a file or folder of the repository as a whole; inside an archive ``a.tar.gz!path``."""
        return Place(f"{self.shown}{self._separator}{path}" if path else self.shown)

    @property
    def models(self) -> tuple[Model, ...]:
        """The models, one for each folder, as Triton sees them; the repository itself when it is one model. Raises
        UnknownValueError when the archive breaks off, so that there may be more (see :attr:`models_read`)."""
        if not self.tree.complete:
            raise UnknownValueError
        return self.models_read

    @cached_property
    def models_read(self) -> tuple[Model, ...]:
        """The models of which a part was read."""
        if self.is_one_model:
            return (Model(self.path.resolve().name, "", self.shown, self),)
        names = self.tree.folders()
        if self.form is Form.SOURCE:
            names = [name for name in names if not name.startswith((".", "_"))]
        return tuple(Model(name, name, f"{self.shown}{self._separator}{name}", self) for name in names)

    @property
    def builds(self) -> bool:
        """Return whether a build writes the config.pbtxt that Triton reads, and turns completion off."""
        return self.form is Form.SOURCE

    @property
    def is_archive(self) -> bool:
        return self.form is Form.ARCHIVE

    @cached_property
    def is_one_model(self) -> bool:
        """Return whether the path is a model itself: it has a config.pbtxt, or a version folder and no model below."""
        if self.tree.get(CONFIG) is not None:
            folders = self.tree.folders() if self.form is Form.FOLDER else []
            are_models = any(self.tree.get(join(name, CONFIG)) for name in folders)
            return not are_models or any(name.isdecimal() for name in folders)
        names = [name for name in self.tree.folders() if self.tree.get(join(name, CONFIG)) is None]
        files = [file for name in names if name.isdecimal() for file in self.tree.children(name)]
        return self.form is Form.FOLDER and any(file.startswith("model.") for file in files)

    def model(self, name: str) -> Model | None:
        """The model that an ensemble's ``model_name`` means. Raises UnknownValueError when it may be where nothing was
        read: after the break of an archive, or beside a model folder that was given on its own."""
        model = self._by_name.get(name)
        alone = self.is_one_model and self.form is Form.FOLDER
        if model is None and (alone or not self.tree.complete):
            raise UnknownValueError
        return model

    @property
    def ensembles(self) -> list[Model]:
        return [model for model in self.models if model.is_ensemble]

    @cached_property
    def source_form(self) -> SourceForm | None:
        """The form of a folder that a build reads."""
        forms = source_forms() if self.form is Form.SOURCE else ()
        return next((form for form in forms if self.tree.get(form.recipe)), None)

    @cached_property
    def recipe(self) -> Build | None:
        """Return what the build makes of such a folder, as its recipe says."""
        entry = self.tree.get(self.source_form.recipe) if self.source_form else None
        return self.source_form.read(entry.text, self.path) if self.source_form and entry else None

    @cached_property
    def _by_name(self) -> dict[str, Model]:
        return {model.folder: model for model in self.models_read}

    @property
    def _separator(self) -> str:
        return "!" if self.form is Form.ARCHIVE else "/"
