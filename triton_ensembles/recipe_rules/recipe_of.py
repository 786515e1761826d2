"""The recipe of a repository, and what belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from triton_ensembles.checking.fault import Place
from triton_ensembles.checking.repository import Repository
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.recipe_rules.environment_files import EnvironmentFile
from triton_ensembles.recipe_rules.source_form import SourceRecipe

if TYPE_CHECKING:
    from triton_ensembles.project.recipe.schema import Recipe


def source_recipe(repository: Repository) -> SourceRecipe | None:
    """Return what the build makes of a folder of ensembles/, None for other repositories."""
    return repository.recipe if isinstance(repository.recipe, SourceRecipe) else None


def recipe_of(repository: Repository) -> Recipe | None:
    """Return the recipe of a folder of ensembles/, None for one with faults."""
    source = source_recipe(repository)
    return source.recipe if source else None


def recipe_place(repository: Repository, name: str) -> Place:
    """Return the line of ensemble.toml that has ``name``."""
    source = source_recipe(repository)
    return Place(repository.place(RECIPE).path, source.line(name) if source else 0)


def project_of(repository: Repository) -> Path | None:
    """Return the folder that paths in the recipe are relative to; None for a folder that is not in an ensembles/."""
    ensembles = repository.path.resolve().parent
    return ensembles.parent if ensembles.name == "ensembles" else None


def environment_files(repository: Repository) -> Iterator[EnvironmentFile]:
    """Yield the environment files that a recipe names; the build judges those with faults. Their paths are relative to
    the project, whose folder ensembles/ holds the repository."""
    if source := source_recipe(repository):
        yield from source.environments.files()


def packed_files(repository: Repository) -> Iterator[EnvironmentFile]:
    """Yield the files of environments that bring a Python and numpy of their own; wheels beside model.py use the
    server's."""
    return (file for file in environment_files(repository) if file.environment.kind != "wheels")
