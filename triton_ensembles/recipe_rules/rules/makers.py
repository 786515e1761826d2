"""Arguments of a recipe's makers: options, files, and places in the staged repository that they may write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from triton_ensembles.checking.rule import Destination, Finding, Repository, rule
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.spelling import listed, nearest, suggestion
from triton_ensembles.project.recipe.artifact_kinds import NEEDS, SCRIPT
from triton_ensembles.project.recipe.plan_precision import refuse_precision
from triton_ensembles.recipe_rules.recipe_of import project_of, recipe_of, recipe_place
from triton_ensembles.triton.model_config import CONFIG
from triton_ensembles.triton.releases import image_of

if TYPE_CHECKING:
    from triton_ensembles.project.recipe.values import Options

SOURCE = "the build refuses it, or makes nothing of it"
PIPELINE = "pipeline"
_TYPES = {str: "a text", int: "a number", float: "a fraction", bool: "true or false", tuple: "a list"}
_FORMS = {str: '"…"', int: "1", tuple: '["…"]'}


@rule("A maker gets the options that it needs, and no others")
def recipe_maker_options(repository: Repository, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    for path, maker, options in _calls(repository):
        if maker == "tensorrt_plan" and destination.device in ("", "gpu"):
            try:
                refuse_precision(path, options, image.tensorrt if image else "")
            except EnsembleError as error:
                yield Finding(recipe_place(repository, "precision"), error.message, "the build refuses it", error.cure)
        needs = NEEDS[maker]
        known = {**needs.options, **needs.optional}
        unknown = [name for name in options if name not in known and not needs.any_options]
        for name in unknown:
            message = f"{path}: the maker {maker} has no option '{name}'"
            options_known = f"its options are {listed(list(known))}" if known else "delete it"
            cure = suggestion(name, known) or options_known
            yield Finding(recipe_place(repository, name), message, "the build ignores it", cure)
        for name, kind in known.items():
            if name in options and type(options[name]) is not kind:
                wrong = f"is {_TYPES[kind]}, and here it is {_TYPES[type(options[name])]}"
                message = f"{path}: the option '{name}' of the maker {maker} {wrong}"
                effect = "the build fails"
                yield Finding(recipe_place(repository, name), message, effect, f"write {name} = {_FORMS[kind]}")
        for name in needs.options:
            if name not in options and not nearest(name, unknown):
                message = f"{path}: the maker {maker} needs an option '{name}', and the recipe gives none"
                cure = f'write {name} = "…"' if maker == SCRIPT else f"write options = {{ {name} = … }}"
                yield Finding(recipe_place(repository, path), message, "the build fails", cure)


@rule("A maker gets the files that it reads")
def recipe_maker_files(repository: Repository) -> Iterator[Finding]:
    recipe, project = recipe_of(repository), project_of(repository)
    for artifact in recipe.artifacts if recipe else ():
        needs = NEEDS[artifact.maker]
        files = sorted(recipe.sources[artifact.source].files) if recipe and artifact.source else []
        if needs.file and artifact.file is None and artifact.needs is None:
            message = f"{artifact.path}: the maker {artifact.maker} reads one file, and the recipe names none"
            cure = f'write file = "{files[0]}"' if len(files) == 1 else 'write file = "…", a file of the source'
            yield Finding(recipe_place(repository, artifact.path), message, "the build refuses it", cure)
        elif (needs.files or (needs.file and artifact.needs is None)) and artifact.source is None:
            message = (
                f"{artifact.path}: the maker {artifact.maker} reads the files of a source, and the recipe names none"
            )
            cure = 'write source = "…", a name in [sources]'
            yield Finding(recipe_place(repository, artifact.path), message, "the build fails", cure)
    for path, _, options in _calls(repository):
        script = options.get(PIPELINE)
        if project is not None and isinstance(script, str) and not (project / script).is_file():
            message = f"{path}: there is no pipeline {shown(project / script)}"
            cure = "write the script; its path is relative to the project"
            yield Finding(recipe_place(repository, script), message, "the build refuses it", cure)


@rule("An artifact is a file of a step that nothing else writes")
def recipe_artifact_path(repository: Repository) -> Iterator[Finding]:
    recipe, seen = recipe_of(repository), set[str]()
    made = {artifact.path for artifact in recipe.artifacts} if recipe else set()
    files = made | {path for path, entry in repository.tree.entries.items() if not entry.is_folder}
    for artifact in recipe.artifacts if recipe else ():
        path, parts = artifact.path, PurePosixPath(artifact.path).parts
        wrong = {
            "is not a file of a step": len(parts) < 2,
            f"is the {CONFIG} of the step, which the build writes": parts[1:] == (CONFIG,),
            "is made twice": path in seen,
            "is a folder": repository.tree.is_folder(path) or any(file.startswith(f"{path}/") for file in made),
            "lies in a file": any(str(folder) in files for folder in PurePosixPath(path).parents),
        }
        if why := next((text for text, is_so in wrong.items() if is_so), ""):
            message, cure = f"the artifact '{path}' {why}", "write <step>/<version>/<file>, and each path once"
            yield Finding(recipe_place(repository, path), message, "the build fails, or the last one wins", cure)
        seen.add(path)


def _calls(repository: Repository) -> Iterator[tuple[str, str, Options]]:
    """(path of the artifact, maker, options) of every artifact, and of its random replacement."""
    recipe = recipe_of(repository)
    for artifact in recipe.artifacts if recipe else ():
        yield artifact.path, artifact.maker, artifact.options
        if artifact.random:
            yield artifact.path, artifact.random.maker, artifact.random.options
