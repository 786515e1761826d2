"""The door for a model repository without a recipe: the request for its archive, with the recipe that it implies."""

from dataclasses import replace
from pathlib import Path

from triton_ensembles.building.places import Places, Weights
from triton_ensembles.building.request import BuildRequest, Proof
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.declared import NOTHING, Asked
from triton_ensembles.project.location import ENSEMBLES
from triton_ensembles.serving.served import as_written, served
from triton_ensembles.starter.from_repository import import_models
from triton_ensembles.starter.names import check_name
from triton_ensembles.starter.report import Notes
from triton_ensembles.triton.targets import Target


def implied(
    repository: Path,
    target: Target,
    places: Places,
    proof: Proof,
    scratch: Path,
    progress: Progress,
    asked: Asked = NOTHING,
    image: str = "",
    model: str = "",
) -> BuildRequest:
    """The request for dist/NAME.tar.gz, with the files of ``repository`` as they are, or for dist/fused/NAME.tar.gz.

    Args:
        scratch: an empty folder for what is linked or copied; the caller removes it after the build.
        asked: the packages of its Python steps that the command line names.
        image: of the archive with the files as they are; a fused one is for that of the target.
        model: the ensemble, or the model that calls others, to build, where there are several.

    Raises:
        EnsembleError: there is no model, ``check`` finds errors, or something is missing that only the user can say.
    """
    if repository.is_file():
        cure = "name the folder that it was packed from"
        raise EnsembleError("this is an archive already", path=repository, cure=cure)
    if not target.fuses:
        repository = repository / model
        single = target.destination.single
        as_it_is = served(repository, scratch, progress, single, image=image, asked=asked)
        return as_written(as_it_is, places, proof)
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
    request = BuildRequest(own.ensembles / name, target, own, Weights("pretrained"), proof=proof, origin=found.root)
    return replace(request, written_for=files)
