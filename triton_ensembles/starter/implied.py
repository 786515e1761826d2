"""The door for a model repository without a recipe: the request for its archive, with the recipe that it implies."""

from dataclasses import replace
from pathlib import Path

from triton_ensembles.building.places import Places, Weights
from triton_ensembles.building.request import BuildRequest, Proof
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.project.location import ENSEMBLES
from triton_ensembles.serving.served import as_written, served
from triton_ensembles.starter.from_repository import import_models
from triton_ensembles.starter.names import check_name
from triton_ensembles.starter.report import Notes
from triton_ensembles.triton.targets import Target


def implied(
    repository: Path, target: Target, places: Places, proof: Proof, scratch: Path, progress: Progress
) -> BuildRequest:
    """The request for dist/NAME.tar.gz, with the files of ``repository`` as they are, or for dist/fused/NAME.tar.gz.

    Args:
        scratch: an empty folder for what is linked or copied; the caller removes it after the build.

    Raises:
        EnsembleError: there is no model, ``check`` finds errors, or something is missing that only the user can say.
    """
    if repository.is_file():
        cure = "name the folder that it was packed from"
        raise EnsembleError("this is an archive already", path=repository, cure=cure)
    if not target.fuses:
        return as_written(served(repository, scratch, progress, target.destination.single), places, proof)
    name, notes = repository.resolve().name, Notes()
    check_name(name)
    found, _, packages = import_models(repository, "", scratch, name, notes)
    for step, modules in packages.unknown.items():
        if step not in packages.steps:
            notes.left.append(f"{step} imports {most_of(modules, 8)}: copy it beside model.py, or name an environment")
    if notes.left:
        message = f"{shown(repository)} needs a recipe first: {'; '.join(notes.left)}"
        has_project = places.ensembles.is_dir()  # where there is none, `new` writes one into an empty folder only
        place, source = ("", shown(repository)) if has_project else ("in an empty folder, ", repository.resolve())
        raise EnsembleError(message, cure=f"{place}run: {COMMAND} new {name} --from {source}")
    for line in notes.assumed:
        progress(f"assumed: {line}")
    own = replace(places, ensembles=scratch / ENSEMBLES)
    return BuildRequest(own.ensembles / name, target, own, Weights("pretrained"), proof=proof, origin=found.root)
