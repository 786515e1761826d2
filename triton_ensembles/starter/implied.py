"""The door for a model repository without a recipe: the request for its archive, with the recipe that it implies."""

from dataclasses import replace
from pathlib import Path

from triton_ensembles.building.places import Weights
from triton_ensembles.building.request import BuildRequest
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.declared import NOTHING, Asked
from triton_ensembles.project.location import ENSEMBLES
from triton_ensembles.serving.served import as_written, served
from triton_ensembles.starter.from_repository import import_models
from triton_ensembles.starter.names import check_name
from triton_ensembles.starter.project import Notes


def implied(
    request: BuildRequest, scratch: Path, progress: Progress, asked: Asked = NOTHING, model: str = ""
) -> BuildRequest:
    """Return the request for dist/NAME.tar.gz, with the files of the repository that ``request`` names as they are, or
    for dist/fused/NAME.tar.gz.

    Args:
        scratch: an empty folder for what is linked or copied; the caller removes it after the build.
        asked: what the command line names for its Python steps; a fused one is for the image of the target.
        model: the ensemble, or the model that calls others, to build, where there are several.

    Raises:
        EnsembleError: there is no model, ``check`` finds errors, or something is missing that only the user can say.
    """
    if request.folder.is_file():
        cure = "name the folder that it was packed from"
        raise EnsembleError("this is an archive already", path=request.folder, cure=cure)
    if request.target.fuses:
        return _imported(request, scratch, progress, asked, model)
    as_it_is = served(request.folder / model, scratch, progress, request.target.destination.single, asked=asked)
    return as_written(as_it_is, request.places, request.proof)


def _imported(request: BuildRequest, scratch: Path, progress: Progress, asked: Asked, model: str) -> BuildRequest:
    """Return the request for the ensemble that the repository is imported as, in a project that lasts for the build."""
    repository, places = request.folder, request.places
    name, notes = model or repository.resolve().name, Notes()
    check_name(name)
    found, _, environments = import_models(repository, model, scratch, name, notes, asked)
    notes.left += [line for packages in environments if not packages.requirements for line in packages.left()]
    if notes.left:
        message = f"{shown(repository)} needs a recipe first: {'; '.join(notes.left)}"
        has_project = places.ensembles.is_dir()  # where there is none, `new` writes one into an empty folder only
        place, source = ("", shown(repository)) if has_project else ("in an empty folder, ", repository.resolve())
        raise EnsembleError(message, cure=f"{place}run: {COMMAND} new {name} --from {source}")
    for line in notes.assumed:
        progress(f"assumed: {line}")
    own = replace(places, ensembles=scratch / ENSEMBLES)
    declared = ((own.root / each.file, each.declared.asked.files) for each in environments if each.declared)
    files = {written: by[0] for written, by in declared if by}  # --with alone names none
    ensemble, weights = own.ensembles / name, Weights("pretrained")
    return replace(request, folder=ensemble, places=own, weights=weights, origin=found.root, written_for=files)
