"""The recipe of a repository, and the environment files that it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from triton_ensembles.checking.repository import Repository
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec, read_environment_file

if TYPE_CHECKING:
    from triton_ensembles.project.recipe.schema import Environment, Recipe

EnvironmentFile: TypeAlias = "tuple[str, EnvironmentSpec, Environment]"
_LEFT = "*environment bytes"
_MOST_BYTES = 1 << 17  # of all environment files of a recipe


def packed_files(repository: Repository) -> Iterator[EnvironmentFile]:
    """The files of environments that bring a Python and numpy of their own; wheels beside model.py use the server's."""
    return (item for item in environment_files(repository) if item[2].kind != "wheels")


def environment_files(repository: Repository) -> Iterator[EnvironmentFile]:
    """The environment files that a recipe names; the build judges those with faults. Their paths are relative to the
    project, whose folder ensembles/ holds the repository."""
    recipe = recipe_of(repository)
    project = repository.path.resolve().parent.parent
    for environment in recipe.environments.values() if recipe else ():
        try:
            spec = environment_file(repository, project / environment.file)
        except EnsembleError:
            continue
        yield shown(spec.path), spec, environment


def environment_file(repository: Repository, path: Path) -> EnvironmentSpec:
    """The environment file at ``path``, read once. Raises :class:`EnsembleError`, also when all are too long."""
    cache = repository.cache
    if (key := f"*environment {path}") not in cache:
        budget = cache.setdefault(_LEFT, _MOST_BYTES)
        try:
            cache[_LEFT] = budget - (path.stat().st_size if path.is_file() else 0)
            if cache[_LEFT] < 0:
                message = f"the environment files of this recipe are longer than {_MOST_BYTES >> 10} KiB together"
                raise EnsembleError(message, path=path, cure="shorten them")
            cache[key] = read_environment_file(path)
        except EnsembleError as error:
            cache[key] = error
    spec: EnvironmentSpec | EnsembleError = cache[key]
    if isinstance(spec, EnsembleError):
        raise spec
    return spec


def project_of(repository: Repository) -> Path | None:
    """The folder that paths in the recipe are relative to; None for a folder that is not in an ensembles/."""
    ensembles = repository.path.resolve().parent
    return ensembles.parent if ensembles.name == "ensembles" else None


def recipe_of(repository: Repository) -> Recipe | None:
    return repository.recipe.recipe if repository.recipe else None
