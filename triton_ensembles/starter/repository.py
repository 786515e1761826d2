"""The model repository in what --from names, and the model in it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from triton_ensembles.checking.python.model_calls import callees, entrances
from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.repository_search import find_repositories, folders_in, holds_model, repository_folders
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.spelling import listed, most_of, nearest
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.sagemaker.contract import ENSEMBLE
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, read_config

_LONGEST = 1 << 20  # letters of a config.pbtxt that cannot be parsed


@dataclass(frozen=True)
class ModelRepository:
    """A model repository on the disk."""

    folder: Path  # the one whose folders are the models; the model itself, if it is only one
    # by the folders of the models; empty where a model has no config.pbtxt, or none that can be read
    configs: dict[str, ModelConfig]
    faults: dict[str, EnsembleError]  # of the ensembles whose config.pbtxt cannot be read
    is_model: bool = False  # whether `folder` is a model itself

    @property
    def ensembles(self) -> list[str]:
        return [name for name, config in self.configs.items() if config.platform == "ensemble"]

    @property
    def root(self) -> Path:
        """The folder whose folders are the models."""
        return self.folder.parent if self.is_model else self.folder

    def place(self, model: str) -> Path:
        return self.folder if self.is_model else self.folder / model

    def called_by(self, model: str) -> list[str]:
        """The models of the repository that a model calls (BLS)."""
        caller = None if self.is_model else self._checked.model(model)
        return [callee.folder for callee in callees(caller)] if caller else []

    @cached_property
    def entrances(self) -> list[str]:
        """The models that may be meant where none is named: see :func:`entrances`."""
        return list(self.faults) or [model.folder for model in entrances(self._checked)]

    @cached_property
    def _checked(self) -> Repository:
        (repository,) = find_repositories(self.folder)
        return repository

    def steps_of(self, model: str) -> list[str]:
        """The models that an ensemble names, each once; [] for any other model."""
        steps = self.configs[model].ensemble_scheduling.step if model in self.ensembles else ()
        return list(dict.fromkeys(step.model_name for step in steps))


def find_repository(path: Path, model: str, name: str) -> ModelRepository:
    """The repository at ``path`` or in a folder below it, with the ``model`` that the user names, or "". A model
    without a folder of its own is called ``name``. Raises :class:`EnsembleError`: there is none, or more than one."""
    if (path / RECIPE).is_file():
        message = f"this is an ensemble of a project already: it has an {RECIPE}"
        cure = "copy the folder, and what its recipe names, into the other project"
        raise EnsembleError(message, path=path, cure=cure)
    found = [folder for folder in repository_folders(path, _has_recipe) if not _has_recipe(folder)]
    repositories = [_read(folder, name) for folder in found]
    if not repositories:
        message = f"there is no model here: neither in this folder nor below it is a {CONFIG}"
        cure = "name the folder whose folders are the models, each with a config.pbtxt, or a .tar.gz of it"
        raise EnsembleError(message, path=path, cure=cure)
    if len(repositories) > 1:
        eligible = [place for place in repositories if model in place.configs or (not model and place.ensembles)]
        repositories = eligible or repositories
    if len(repositories) > 1:
        folders = most_of((shown(repository.folder) for repository in repositories), 6)
        message = f"there are {len(repositories)} model repositories here: {folders}"
        raise EnsembleError(message, path=path, cure="name one")
    return repositories[0]


def choose_model(repository: ModelRepository, model: str) -> str:
    """The ensemble to import, or a single model, which becomes the only step of a new one. Raises
    :class:`EnsembleError`: there are several that it may be, not the one that the user names, or it cannot be read."""
    chosen = _chosen(repository, model)
    if fault := repository.faults.get(chosen):
        cure = "correct it; instead of a template (${…}), import what it is filled to"
        raise EnsembleError(fault.message, path=fault.path, line=fault.line, cure=cure)
    return chosen


def _chosen(repository: ModelRepository, model: str) -> str:
    names = list(repository.configs)
    if model:
        if model not in names:
            meant = nearest(model, names)
            cure = f"did you mean {meant!r}?" if meant else f"there are {listed(names)}"
            raise EnsembleError(f"there is no model {model!r}", path=repository.folder, cure=cure)
        return model
    outer = repository.entrances
    if len(outer) > 1 and outer[0] in repository.ensembles:
        message = f"there are {len(outer)} ensembles here: {listed(outer)}"
        raise EnsembleError(message, path=repository.folder, cure=f"choose one: --model {outer[0]}")
    if len(outer) == 1:
        return outer[0]
    if len(names) > 1:
        message = f"none of the {len(names)} models here is an ensemble: {listed(names)}"
        cure = f"choose the one that becomes an ensemble of one step (--model {names[0]}), or write the ensemble first"
        raise EnsembleError(message, path=repository.folder, cure=cure)
    return names[0]


def _has_recipe(folder: Path) -> bool:
    return (folder / RECIPE).is_file()  # of an ensemble of a project


def _read(folder: Path, name: str) -> ModelRepository:
    alone = holds_model(folder)
    places = {"": folder} if alone else {child.name: child for child in folders_in(folder) if holds_model(child)}
    configs: dict[str, ModelConfig] = {}
    faults: dict[str, EnsembleError] = {}
    for key, place in places.items():
        path, config = place / CONFIG, ModelConfig()
        try:
            config = read_config(path)
        except EnsembleError as error:  # `check` explains it
            if _is_ensemble(path):
                config.platform = "ensemble"
                faults[key or name] = error
        configs[key or config.name or name] = config
    return ModelRepository(folder, configs, faults, is_model=alone)


def _is_ensemble(path: Path) -> bool:
    """Return whether a config.pbtxt that cannot be parsed is that of an ensemble."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return ENSEMBLE.search(file.read(_LONGEST)) is not None
