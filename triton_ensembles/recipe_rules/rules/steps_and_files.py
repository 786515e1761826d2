"""Recipes that are valid on their own, and that the build refuses: steps and files that are not there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from triton_ensembles.archive.tree import Kind
from triton_ensembles.checking.python.model_calls import entrances
from triton_ensembles.checking.rule import Destination, Finding, Place, Repository, rule, warning
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import read_text
from triton_ensembles.ground.spelling import choices, listed, suggestion
from triton_ensembles.project.recipe.places import LOCK_LINE, LOCKS, LONGEST_LOCK, RECIPE
from triton_ensembles.recipe_rules.recipe_of import packed_files, project_of, recipe_of, recipe_place, source_recipe
from triton_ensembles.triton.backends import KNOWN
from triton_ensembles.triton.pip_server import STUB_PYTHONS

SOURCE = "the build refuses it, or makes nothing of it"


@rule("ensemble.toml is a valid recipe", source="the build of this project reads it: triton_ensembles/project/recipe")
def recipe_unreadable(repository: Repository) -> Iterator[Finding]:
    source = source_recipe(repository)
    for error in source.faults if source else ():
        place = Place(repository.place(RECIPE).path, error.line or 0)
        yield Finding(place, error.message, "the build stops here", error.cure or "correct the line")


@rule("A recipe names steps that exist")
def recipe_step_unknown(repository: Repository) -> Iterator[Finding]:
    folders = [model.folder for model in repository.models if model.has_config]
    for step in _steps(repository):
        if step not in folders:
            message = f"the recipe names a step '{step}', which does not exist"
            cure = suggestion(step, folders) or f"the folder has {choices(folders)}"
            yield Finding(recipe_place(repository, step), message, "the build refuses it", cure)


@rule("A folder of ensembles/ has one ensemble that no other model there needs")
def recipe_ensemble(repository: Repository) -> Iterator[Finding]:
    if not repository.builds:
        return
    ensembles = [model.folder for model in entrances(repository) if model.is_ensemble]
    if any(model.has_config for model in repository.models) and len(ensembles) != 1:
        message = "none of the models here is an ensemble that no other one needs"
        cure = 'write ensemble/config.pbtxt with platform: "ensemble"'
        if ensembles:
            message = f"exactly one ensemble must be needed by no other model, and here {listed(ensembles)} are not"
            cure = "give each a folder of ensembles/"
        yield Finding(repository.place(RECIPE), message, "the build refuses it", cure)


@rule("Everything in a folder of ensembles/ can be put into an archive")
def recipe_link(repository: Repository) -> Iterator[Finding]:
    for name in [model.folder for model in repository.models] if repository.builds else ():
        top = repository.tree.get(name)
        for entry in [*([top] if top else []), *repository.tree.below(name)]:
            inner = entry.path.split("/")[1:]
            # Editors lock a file by a hidden link that leads nowhere; the requests of examples/ are not staged.
            if any(part.startswith(".") for part in inner) or inner[:1] == ["examples"]:
                continue
            if entry.kind is Kind.OTHER:
                message = f"'{entry.path}' is neither a file nor a folder"
            elif entry.kind is Kind.SYMLINK and entry.is_folder:
                message = f"'{entry.path}' links to a folder ('{entry.target}')"
            elif entry.kind is Kind.SYMLINK and not (repository.path / entry.path).exists():
                message = f"'{entry.path}' links to something that is not there ('{entry.target}')"
            else:
                continue
            cure = "put the file or folder itself here, or remove it"
            yield Finding(repository.place(entry.path), message, "the archive would lack it", cure)


@rule("The files of the project that a recipe names exist")
def recipe_file_missing(repository: Repository) -> Iterator[Finding]:
    recipe, project = recipe_of(repository), project_of(repository)
    if recipe is None or project is None:
        return
    read = {path for artifact in recipe.artifacts for path in artifact.project_files}
    for path in sorted(read | {item.file for item in recipe.environments.values()}):
        if not (project / path).is_file():
            near = (project / path).parent
            there = [item.name for item in near.iterdir()] if near.is_dir() else []
            message = f"the recipe names {shown(project / path)}, which does not exist"
            cure = suggestion(path.rpartition("/")[2], there) or "write the file; its path is relative to the project"
            yield Finding(recipe_place(repository, path), message, "the build refuses it", cure)


@rule("The environment files of a recipe can be read")
def recipe_environment_file(repository: Repository, destination: Destination) -> Iterator[Finding]:
    source, project = source_recipe(repository), project_of(repository)
    for environment in source.recipe.environments.values() if source and source.recipe and project else ():
        assert source is not None and project is not None
        if not (project / environment.file).is_file():  # recipe-file-missing reports it
            continue
        try:
            spec = source.environments.spec(project / environment.file)
            if environment.kind == "wheels" or destination.device == "fused":
                spec.pip_requirements  # noqa: B018  # pip alone installs them
        except EnsembleError as error:
            effect = "the build refuses it"
            yield Finding(Place(shown(project / environment.file), error.line or 0), error.message, effect, error.cure)


@rule("The Python of an environment is one that Triton has a stub for", source="python_backend_stubs of pytriton")
def recipe_environment_python(repository: Repository, destination: Destination) -> Iterator[Finding]:
    """An image has one stub, and the build takes its Python; wheels beside model.py are for the server's."""
    for path, spec, environment in packed_files(repository) if not destination.image else ():
        if spec.python and spec.python not in STUB_PYTHONS:
            message = f"this requires Python {spec.python}, and Triton has no stub for it"
            effect = f"{listed(environment.steps)} would not start: the build refuses it, or takes another Python"
            cure = f"write one of python={', '.join(STUB_PYTHONS)}"
            lines = enumerate(spec.text.splitlines(), 1)
            number = next((number for number, line in lines if re.search(r"\bpython\s*[=<>]", line)), 0)
            yield Finding(Place(path, number), message, effect, cure)


@rule("Every line of a lock names a package")
def recipe_lock(repository: Repository) -> Iterator[Finding]:
    """The marks of a merge conflict, for example, are not."""
    names = repository.tree.children(LOCKS) if repository.builds else []
    for inner in [f"{LOCKS}/{name}" for name in names if name.endswith(".lock")]:
        path = repository.path / inner
        try:
            lines = read_text(path, LONGEST_LOCK).splitlines()
        except EnsembleError as error:
            yield Finding(repository.place(inner), error.message, "the build refuses it", "delete this lock and build")
            continue
        wrong = (
            at for at, line in enumerate(lines, 1) if line.strip() and line[0] != "#" and not LOCK_LINE.fullmatch(line)
        )
        if number := next(wrong, 0):
            message = "this is not a line of a lock"
            cure = "delete this lock and build, or take it from git as it was"
            yield Finding(Place(repository.place(inner).path, number), message, "the build refuses it", cure)


@warning("Only Python steps have an environment")
def recipe_environment_step(repository: Repository) -> Iterator[Finding]:
    recipe = recipe_of(repository)
    for step in [step for environment in recipe.environments.values() for step in environment.steps] if recipe else ():
        model = repository.model(step)
        backend = model.backend.name if model and model.has_config else ""
        if model and (model.is_ensemble or (backend in KNOWN and backend != "python")):
            kind = "an ensemble" if model.is_ensemble else f"a model of the {backend} backend"
            message = f"'{step}' gets an environment, and it is " + kind
            effect = "Triton does not use it"
            yield Finding(recipe_place(repository, step), message, effect, "name the Python steps only")


@warning("The files of a source that no other place has are on this machine")
def recipe_source_missing(repository: Repository) -> Iterator[Finding]:
    """A warning, because weights are often not in git: the machine that builds may have them."""
    recipe, project = recipe_of(repository), project_of(repository)
    for name, source in recipe.sources.items() if recipe and project else ():
        assert project is not None
        missing = [] if source.has_address else [file for file in source.files if not source.on_disk(file, project)]
        if missing:
            places = choices(str(place) for place in source.places)
            message = f"the source '{name}' has no {listed(missing)} at {places}"
            effect = "the build refuses it here, or takes random weights"
            cure = "correct the path, which is relative to the project; or build with --weights-dir"
            yield Finding(recipe_place(repository, missing[0]), message, effect, cure)


def _steps(repository: Repository) -> list[str]:
    recipe = recipe_of(repository)
    if recipe is None:
        return []
    named = {artifact.step for artifact in recipe.artifacts}
    named.update(recipe.engines, recipe.parameters, recipe.gpu.parameters)
    return sorted(named.union(*(environment.steps for environment in recipe.environments.values())))
