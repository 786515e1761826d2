"""What the build refuses in a recipe that is valid by itself: steps and files that are not there."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from triton_ensembles.check.fault import Finding, Place, Severity
from triton_ensembles.check.repository import Repository
from triton_ensembles.check.rule import rule
from triton_ensembles.environment import read_environment_file
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.recipe.reader import RECIPE, line_naming
from triton_ensembles.recipe.schema import Recipe
from triton_ensembles.spelling import choices, nearest
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.home import STUB_PYTHONS, VERSION

SOURCE = "the build refuses it, or makes nothing of it"


@rule("A recipe names steps that exist")
def recipe_step_unknown(repository: Repository) -> Iterator[Finding]:
    folders = [model.folder for model in repository.models if model.has_config]
    for step, place in _steps(repository).items():
        if step not in folders:
            meant = nearest(step, folders)
            yield Finding(
                place,
                f"the recipe names a step '{step}', which does not exist",
                "the build refuses it",
                f"did you mean '{meant}'?" if meant else f"the folder has {choices(folders)}",
            )


@rule("The files of the project that a recipe names exist")
def recipe_file_missing(repository: Repository) -> Iterator[Finding]:
    recipe, project = _recipe(repository), _project(repository)
    if recipe is None or project is None:
        return
    read = {path for artifact in recipe.artifacts for path in artifact.reads}
    for path in sorted(read | {each.file for each in recipe.environments.values()}):
        if not (project / path).is_file():
            near = (project / path).parent
            meant = nearest(path.rpartition("/")[2], [each.name for each in near.iterdir()] if near.is_dir() else [])
            yield Finding(
                _place(repository, path),
                f"the recipe names {shown(project / path)}, which does not exist",
                "the build refuses it",
                f"did you mean '{meant}'?" if meant else "write the file; its path is relative to the project",
            )


@rule("The environment files of a recipe can be read")
def recipe_environment_file(repository: Repository) -> Iterator[Finding]:
    recipe, project = _recipe(repository), _project(repository)
    for environment in recipe.environments.values() if recipe and project else ():
        assert project is not None
        if not (project / environment.file).is_file():  # recipe-file-missing reports it
            continue
        try:
            read_environment_file(project / environment.file)
        except EnsembleError as error:
            yield Finding(
                Place(shown(project / environment.file), error.line or 0),
                error.message,
                "the build refuses it",
                error.cure,
            )


@rule("An environment that is packed for the server on this machine has a Python that Triton has a stub for")
def recipe_environment_python(repository: Repository, destination: Destination) -> Iterator[Finding]:
    recipe, project = _recipe(repository), _project(repository)
    if recipe is None or project is None or destination.image or destination.device not in ("", "cpu"):
        return  # elsewhere the build takes the Python of the image
    for environment in recipe.environments.values():
        if environment.kind == "wheels":
            continue
        try:
            spec = read_environment_file(project / environment.file)
        except EnsembleError:  # which other rules report
            continue
        if spec.python and spec.python not in STUB_PYTHONS:
            yield Finding(
                Place(shown(project / environment.file), spec.line_of("python") or 0),
                f"the environment has Python {spec.python}, which Triton {VERSION} has no stub for",
                "no step can run in it, and the build refuses it",
                f"ask for one of Python {', '.join(STUB_PYTHONS)}",
            )


@rule("Every source of a recipe is used", severity=Severity.WARNING)
def recipe_source_unused(repository: Repository) -> Iterator[Finding]:
    recipe = _recipe(repository)
    used = {artifact.source for artifact in recipe.artifacts} if recipe else set()
    for name in recipe.sources if recipe else ():
        if name not in used:
            yield Finding(
                _place(repository, name),
                f"no artifact uses the source '{name}'",
                "the build downloads nothing from it",
                f'write source = "{name}" into the artifact that it is for, or remove it',
            )


def _steps(repository: Repository) -> Mapping[str, Place]:
    recipe = _recipe(repository)
    if recipe is None:
        return {}
    named = {artifact.step for artifact in recipe.artifacts} | {*recipe.engines, *recipe.parameters}
    named |= {*recipe.gpu.parameters, *(step for each in recipe.environments.values() for step in each.steps)}
    return {step: _place(repository, step) for step in sorted(named)}


def _project(repository: Repository) -> Path | None:
    """The folder that paths in the recipe are relative to; None for a folder that is not in an ensembles/."""
    ensembles = repository.path.resolve().parent
    return ensembles.parent if ensembles.name == "ensembles" else None


def _recipe(repository: Repository) -> Recipe | None:
    return repository.recipe.recipe if repository.recipe else None


def _place(repository: Repository, name: str) -> Place:
    entry = repository.tree.get(RECIPE)
    return Place(repository.place(RECIPE).path, line_naming((entry.text if entry else None) or "", [name]) or 0)
