"""An ensemble that exists, imported into a project: copied, and completed where its configs leave something out."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from triton_ensembles.archive.manifest import FACTS, read_manifest
from triton_ensembles.building.planned.model_selection import written_backend
from triton_ensembles.checking.checker import report_on, repositories_at
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.python.model_calls import callees
from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import remove
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.project.declared import NOTHING, Asked, packages_for
from triton_ensembles.project.examples.made_up import NAME as EXAMPLE
from triton_ensembles.project.examples.made_up import calls_in, write_example
from triton_ensembles.project.examples.place import examples_folder
from triton_ensembles.project.location import ENSEMBLES
from triton_ensembles.project.recipe.implied import LEFT_OUT
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.sagemaker.extraction import ExtractionError, extract
from triton_ensembles.starter.draft import draft, refuse_existing, write_texts
from triton_ensembles.starter.models import copy_environments, copy_models
from triton_ensembles.starter.names import check_name
from triton_ensembles.starter.project import Notes, Written, project_texts, rendered, test_of
from triton_ensembles.starter.recipe import environment_text, recipe_text
from triton_ensembles.starter.repository import ModelRepository, choose_model, find_repository
from triton_ensembles.starter.steps import Packages, packages_of
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import ModelConfig
from triton_ensembles.triton.requirements import Declared
from triton_ensembles.triton.targets import CPU

_MOST_FAULTS = 40  # lines


def write_from_repository(
    root: Path, name: str, source: Path, model: str, asked: Asked = NOTHING, *, whole: bool
) -> Written:
    """Import ``source`` into the project ``root`` as the ensemble ``name``, as :func:`import_models` does, with an
    example and a test. ``whole``: also write the files of a project. Raises :class:`EnsembleError`: it cannot be
    imported. Nothing was written.
    """
    check_name(name)
    notes = Notes()
    existing = [f"{ENSEMBLES}/{name}", f"envs/{name}.yml", test_of(name)]
    refuse_existing(root, existing, "choose another name, or move it away")
    with draft(root, name) as folder:
        inner = folder / ENSEMBLES / name
        _, configs, environments = import_models(source, model, folder, name, notes, asked)
        texts = rendered("from_repository", name)
        write_texts(folder, texts)
        _add_example(inner, configs, notes)
        (repository,) = find_repositories(inner)
        calls = any(map(callees, repository.models))  # which only the fused form answers
        _add_faults(notes, inner, root / ENSEMBLES / name, "fused" if calls else CPU.name)
        if calls and not whole:
            notes.assumed.append("build it with --target fused")
        backends = set(map(written_backend, configs.values())) - {""}
        project, kept = project_texts(root, name, backends, makes_onnx=False, fuses=calls) if whole else ({}, [])
        write_texts(folder, project)
        models = [f"{ENSEMBLES}/{name}/{path.name}" + "/" * path.is_dir() for path in sorted(inner.iterdir())]
    files = [packages.file for packages in environments if packages.requirements]
    return Written((*models, *texts, *files, *project), tuple(kept), notes)


def import_models(
    source: Path, model: str, project: Path, name: str, notes: Notes, asked: Asked = NOTHING
) -> tuple[ModelRepository, dict[str, ModelConfig], list[Packages]]:
    """Import ``source``, a model repository, a model or an archive, as ensembles/``name`` of the folder ``project``.

    ``model`` is the ensemble of the repository, or the single model that becomes an ensemble of one step; "" where it
    can only be one. ``notes`` get what was assumed, and what is left to do; ``asked``: the packages that the command
    line names. Returns where the models were, the configs of the copies by folder, and the packages that they need.
    Raises :class:`EnsembleError`: it cannot be imported.
    """
    inner = project / ENSEMBLES / name
    with _folder_of(source, project / "unpacked") as place:
        repository = find_repository(place, model, name)
        if repository.folder != source and source.is_dir():
            notes.assumed.append(f"the model repository is {shown(repository.folder)}")
        configs = _copied(repository, choose_model(repository, model), inner, notes)
        declared = {folder: asked.of(packages_for(repository.place(folder))) for folder in configs}
    environments = _packages(inner, declared, name, notes)
    written = [packages for packages in environments if packages.requirements]
    (inner / RECIPE).write_text(recipe_text(source.name, written), encoding="utf-8")
    write_texts(project, {packages.file: environment_text(name, packages) for packages in written})
    for backend in sorted(set(map(written_backend, configs.values())) - {"python", "", *CPU.backends}):
        cure = "build for an image that has it (--target gpu --image RELEASE), or add a model file of another format"
        notes.left.append(f"{CPU.server} has no backend {backend!r}: {cure}")
    return repository, configs, environments


def _copied(repository: ModelRepository, chosen: str, inner: Path, notes: Notes) -> dict[str, ModelConfig]:
    """Copy the models into the new folder ``inner``. Returns their configs by folder."""
    inner.mkdir(parents=True)
    if chosen in repository.ensembles:
        steps = most_of(repository.steps_of(chosen), 8) if repository.steps_of(chosen) else "none"
        notes.assumed.append(f"{chosen} is the ensemble; its steps are {steps}")
    configs = copy_models(repository, chosen, inner, notes)
    copy_environments(repository, configs, inner, notes)
    names = {path.name for path in repository.folder.iterdir()} - {*repository.configs, *LEFT_OUT}
    beside = sorted(name for name in names if not (inner / name).exists())
    if beside and not repository.is_model:
        notes.assumed.append(f"left out, for they are no models: {most_of(beside)}")
    return configs


@contextmanager
def _folder_of(source: Path, unpacked: Path) -> Iterator[Path]:
    """``source``, or what it unpacks to, an archive. Raises :class:`EnsembleError`: it was built from a recipe."""
    if source.is_dir():
        yield source
        return
    try:
        extract(source, unpacked, lambda _: None)
        if read_manifest(unpacked).keys() >= FACTS:
            cure = "import the repository that it was built from"
            raise EnsembleError(
                "this archive was built from a recipe, and holds what the build made", path=source, cure=cure
            )
        yield unpacked
    except ExtractionError as error:
        cure = "pack it again, without links: tar -h --hard-dereference -C FOLDER -czf NAME.tar.gz ."
        raise EnsembleError(error.message, path=source, cure=cure) from None
    finally:
        remove(unpacked)


def _packages(inner: Path, declared: Mapping[str, Declared | None], name: str, notes: Notes) -> list[Packages]:
    """The packages of Python steps without an environment."""
    (inner / RECIPE).write_text('description = "not written yet"\n', encoding="utf-8")
    (repository,) = find_repositories(inner)
    environments = packages_of(repository, declared, name)
    for packages in environments:
        if packages.declared:
            asked = ", ".join(packages.declared.asked.texts)
            notes.assumed.append(f"{packages.file} has the packages of {packages.declared.place}: {asked}")
            if packages.declared.asked.pins:
                message = f"the hashes of {packages.declared.place} are left out: its lock has those of what is found"
                notes.assumed.append(message)
        if packages.proposed:
            steps, asked = most_of(packages.steps, 8), ", ".join(packages.proposed)
            notes.assumed.append(f"{packages.file} has what {steps} import and no file declares: {asked}")
        if packages.requirements:  # otherwise check says it
            notes.left += packages.left()
    return environments


def _add_faults(notes: Notes, folder: Path, final: Path, target: str) -> None:
    """Add what `check` finds in the ensemble in ``folder``, which will lie at ``final``, to what is left to do before a
    build for ``target``."""
    try:
        repositories = [replace(repository, shown=shown(final)) for repository in repositories_at([folder])]
        report = report_on(repositories, [folder], Destination(target))  # as a build does
    except EnsembleError as error:
        notes.left.append(error.headline)
        return
    errors = [fault for fault in report.faults if fault.severity is Severity.ERROR and fault.rule != "sagemaker-bls"]
    lines = [f"{fault.place}: {'; '.join(filter(None, (fault.message, fault.cure)))}" for fault in errors]
    notes.left += lines[:_MOST_FAULTS]
    if len(lines) > _MOST_FAULTS:
        notes.left.append(f"{len(lines) - _MOST_FAULTS} more errors: {COMMAND} check {final.name}")
    if report.warnings:
        count = f"{report.warnings} warning" + ("s" if report.warnings > 1 else "")
        notes.left.append(f"look at {count}: {COMMAND} check {final.name}")


def _add_example(inner: Path, configs: dict[str, ModelConfig], notes: Notes) -> None:
    folder = examples_folder(inner)
    if any(folder.glob("*.json")):
        return
    calls = frozenset().union(*map(calls_in, inner.iterdir()))
    place = f"{folder.parent.name}/{folder.name}"
    if write_example(folder, configs[folder.parent.name], calls):
        made_up = "is a request that was made up from config.pbtxt: replace it by a real one"
        notes.assumed.append(f"{place}/{EXAMPLE} {made_up}")
    else:
        notes.left.append(f"write an example request into {place}/")
