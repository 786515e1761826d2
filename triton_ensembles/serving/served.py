"""Paths as a server sees them: a model repository, one model of it, or an archive of either.

    served(Path("models"), scratch)            a model repository, served where it lies
    served(Path("models/resnet"), scratch)     one model; of an ensemble, its steps beside it too
    served(Path("model.tar.gz"), scratch)      what SageMaker would unpack, unpacked into ``scratch``
    served(Path("ensembles/bert"), scratch)    the folder of a project's ensemble, built first

    with server_of([served(path, scratch)]) as server:
        print(server.http_url)

Nothing is changed in what is served: no config is rewritten, and no model is renamed. What SageMaker's container, or
the server on this machine, would refuse is refused before with the faults that ``check`` finds.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Unpack

from triton_ensembles.archive.manifest import FACTS, one_python, read_manifest
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.made.declared_packages import other_numpy
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.refusal import refuse_faults, warnings_of
from triton_ensembles.building.request import BuildRequest, Proof
from triton_ensembles.checking.built_for import manifest
from triton_ensembles.checking.environments import environment_of, has_stub
from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.repository_search import find_repositories, is_model, is_repository
from triton_ensembles.checking.rules.model_py.step_imports import steps_with_packages
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.errors import EnsembleError, UsageError, shown
from triton_ensembles.ground.extras import require_engines
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.spelling import listed
from triton_ensembles.project.declared import NOTHING, Asked
from triton_ensembles.project.location import ENSEMBLES
from triton_ensembles.project.recipe.implied import Implied
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.project.settings import project_defaults
from triton_ensembles.server.home import Installation, find_home
from triton_ensembles.server.installed import image_of_server
from triton_ensembles.server.server_command import Reach, ServerOptions
from triton_ensembles.server.stubs import require_interpreter
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.serving.own_repository import linked, name_of, unpacked
from triton_ensembles.serving.packages_beside import put_beside, without_version
from triton_ensembles.triton.destination import Destination, SingleModel
from triton_ensembles.triton.model_config import CONFIG, config_of
from triton_ensembles.triton.requirements import Declared
from triton_ensembles.triton.targets import CPU, Target, cpu, fused

_GPUS = Path("/proc/driver/nvidia/gpus")


@dataclass(frozen=True)
class Served(Implied):
    """A model repository, ready for tritonserver, and for :func:`as_written`."""

    server: Installation | None = None  # that will serve it; None for the one that setup has installed
    archive: Path | None = None  # that a build has made of it
    declared: tuple[Declared, ...] = ()  # the packages beside model.py of its steps, if it is of links
    packages: frozenset[str] = frozenset()  # their paths in the repository
    refresh: Callable[[], set[str]] | None = None  # brings the links up to date, and returns these paths

    def written_files(self) -> list[Path]:
        """The folder and the files that people edit."""
        return [self.path, *dict.fromkeys(file for declared in self.declared for file in declared.asked.files)]


def served(
    path: Path,
    scratch: Path,
    progress: Progress = lambda _: None,
    single: SingleModel | None = None,
    server: Installation | None = None,
    asked: Asked = NOTHING,
) -> Served:
    """The repository that ``path`` stands for.

    Args:
        scratch: a folder for what is unpacked, linked or built from it; the caller removes it after the server.
        progress: is told what takes long.
        single: what ``check`` is told of a single-model endpoint, where it will be on one.
        server: the Triton that will serve it, where it is not the one that ``setup`` has installed.
        asked: what the command line names for its Python steps without an environment.

    Raises:
        EnsembleError: there is no model, the archive cannot be unpacked, packages cannot be installed, or ``check``
            finds errors, all of which the message has.
    """
    if not path.exists():
        raise UsageError("there is no such file or folder", path=path)
    name, path = name_of(path), repository_at(path)
    if (path / RECIPE).is_file():
        target = cpu(image) if (image := image_of_server(server)) else None
        return of_built(built_of(path, progress, target, single=single is not None), path, server)
    found = find_repositories(path)  # once: there may be a hundred thousand files
    repositories = [replace(each, asked=asked.of, is_laid_out=path.is_dir()) for each in found]
    message = f"this cannot be served, because check finds faults in {shown(path)}"
    destination = replace(here(server, asked.image), single=single)
    python = cpu(asked.image).python
    for line in warnings_of(refuse_faults(path, destination, message, repositories=repositories)):
        progress(line)
    refuse_missing(repositories, server, python)
    laid = laid_out(path, repositories, scratch, progress, server, python)
    if laid.refresh:  # now that the packages are there; the links to them are no fault, as none are packed
        written = path.parent if repositories[0].is_one_model else path
        refuse_faults(laid.repository, replace(destination, single=None), message, {laid.repository: written})
    return replace(laid, name=name if path.is_dir() else laid.name, server=server, destination=destination)


def laid_out(
    path: Path,
    repositories: Sequence[Repository],
    scratch: Path,
    progress: Progress,
    server: Installation | None = None,
    python: str = "",
) -> Served:
    """As :func:`served`, of what was read and found good already, and needs no build."""
    name, python = name_of(path), python or _python_of(repositories)
    folder = Path(tempfile.mkdtemp(dir=scratch))
    if path.is_file():
        progress(f"unpacking {shown(path)}")
        return _served(name, path, unpacked(path, folder), repositories, python)
    repository = linked(path, folder) if repositories[0].is_one_model else path

    def read() -> Repository:
        return replace(next(find_repositories(repository)), asked=repositories[0].asked)

    first = repositories[0] if repository is path else read()
    declared = steps_with_packages(first, here(server))
    target = cpu(image_of_server(server))
    target = replace(target, python=python or target.python)
    for asked in {model.declared: None for model in first.models_read if model.is_python and model.declared}:
        for line in other_numpy(asked, target, server or find_home()) if asked else ():
            progress(line)
    if not declared and not without_version(first):
        return _served(name, path, repository, repositories, python)
    beside = folder / "with-packages" / repository.resolve().name
    beside.parent.mkdir()

    def refresh() -> set[str]:
        return put_beside(read(), beside, here(server), target, server or find_home(), progress)

    packages = frozenset(refresh())
    laid = _served(name, path, beside, repositories, target.python)
    return replace(laid, declared=tuple(declared), packages=packages, refresh=refresh)


def of_built(built: Built, folder: Path, server: Installation | None = None) -> Served:
    """The repository that the build of the project's ensemble in ``folder`` has staged."""
    read = list(find_repositories(built.repository))
    refuse_missing(read, server)
    return replace(_served(built.name, folder, built.repository, read), server=server, archive=built.archive)


def server_of(
    all_served: Sequence[Served],
    *,
    arguments: Sequence[str] = (),
    reach: Reach = Reach.PROGRAMS,
    **options: Unpack[ServerOptions],
) -> TritonServer:
    """Return one server for all of them, not started yet; the arguments are those of :class:`TritonServer`. Raises
    :class:`EnsembleError`: two have a model of the same name, or they need different Pythons."""
    refuse_shared_names(all_served)
    options["python"] = one_python({source.name: source.python for source in all_served})
    options["home"] = all_served[0].server if all_served else None
    server = TritonServer(
        [source.repository for source in all_served],
        arguments=arguments,
        reach=reach,
        completes=not all(source.is_complete for source in all_served),
        **options,
    )
    for source in all_served:
        if not (source.path / RECIPE).is_file():
            written = source.path.parent if source.path.is_dir() and is_model(source.path) else source.path
            server.known_as[os.fspath(source.repository.resolve())] = shown(written)
    return server


def refuse_shared_names(all_served: Sequence[Served]) -> None:
    """Refuse two models of one name, of which Triton loads neither. Raises
    :class:`EnsembleError`: two of the repositories have a model of the same name."""
    owners: dict[str, Served] = {}
    for source in all_served:
        for model in source.models:
            owner = owners.setdefault(model, source)
            if owner is not source:
                raise EnsembleError(
                    f"{shown(owner.path)} and {shown(source.path)} both have a model {model!r}, and a server loads "
                    "neither of two models of one name",
                    cure="serve them one at a time, or as archives of an endpoint, where each has names of its own",
                )


def here(server: Installation | None = None, image: str = "") -> Destination:
    """Return the server on this machine, with the Python of ``image``, or else its own."""
    return Destination("" if _GPUS.is_dir() else CPU.name, image=image or image_of_server(server))


def repository_at(path: Path) -> Path:
    """``path``, if it is a model repository, a model or a file, else the only repository or archive in this folder.
    Raises :class:`EnsembleError`: there is none, or more than one."""
    if not path.is_dir() or is_repository(path) or (path / RECIPE).is_file():
        return path
    inner = [repository.path for repository in find_repositories(path)]
    if len(inner) == 1:
        return inner[0]
    if inner:
        message = f"there are several here: {listed([shown(repository) for repository in inner])}"
        raise UsageError(message, path=path, cure="name those that you want")
    message = f"there is no model here: neither this folder nor one in it has a {CONFIG} or a version folder"
    cure = "name the folder that holds the models' folders, one model's folder, or an archive"
    raise UsageError(message, path=path, cure=cure)


def built_of(folder: Path, progress: Progress, target: Target | None = None, *, single: bool = False) -> Built:
    """The ensemble of a project, built for ``target``, by default the project's own, which is served on this machine;
    ``single``: for a single-model endpoint, if the target does not say so. Raises :class:`EnsembleError`."""
    folder = folder.resolve()
    if folder.parent.name != ENSEMBLES:
        message = f"a folder with {RECIPE} is built in its project, and this one is not in {ENSEMBLES}/"
        raise EnsembleError(message, path=folder, cure=f"move it into {ENSEMBLES}/ of a project")
    if target is None:
        target = fused() if project_defaults(folder).get("target") == "fused" else CPU
    target = replace(target, single=single or target.single)
    return build(BuildRequest(folder, target, Places.of(folder.parents[1])), progress)


def as_written(source: Served, places: Places, proof: Proof = Proof.NONE) -> BuildRequest:
    """The request for an archive of ``source``, a repository without a recipe, as it is: dist/NAME.tar.gz."""
    return BuildRequest(source.path, CPU, places, proof=proof, implied=source)


def _served(name: str, path: Path, repository: Path, read: Sequence[Repository], python: str = "") -> Served:
    """``read``: the repository as ``check`` reads it."""
    folders = [folder for folder in sorted(repository.iterdir()) if folder.is_dir() and is_model(folder)]
    configs = (config_of(folder) for folder in folders)
    steps = {step.model_name for config in configs for step in config.ensemble_scheduling.step}
    models = tuple(folder.name for folder in folders)
    return Served(
        name,
        path,
        repository,
        models,
        tops=tuple(model for model in models if model not in steps) or models,
        python=python or _python_of(read),
        is_complete=read_manifest(repository).keys() >= FACTS,
    )


def refuse_missing(repositories: Sequence[Repository], server: Installation | None = None, python: str = "") -> None:
    """Raise one :class:`EnsembleError` for all that is not installed and what installs it: engines of the models, and
    the Python of the steps, by default the one that the repositories are for."""
    own = server.backends if server else ()
    backends: list[tuple[str, str]] = []
    for model in (model for repository in repositories for model in repository.models_read):
        with contextlib.suppress(UnknownValueError):
            if not model.is_ensemble and model.backend.name not in own:
                backends.append((model.folder, model.backend.name))
    missing: list[EnsembleError] = []
    python = python or _python_of(repositories) or (server.python if server else "")
    for require in (partial(require_engines, backends), partial(require_interpreter, python)):
        try:
            require()
        except EnsembleError as error:
            missing.append(error)
    if missing:
        cures = (error.cure for error in missing)
        raise EnsembleError(", and ".join(error.message for error in missing), cure=", and ".join(cures))


def _python_of(repositories: Sequence[Repository]) -> str:
    """The Python that a manifest names, or else that of the packed environments, for steps that bring no stub; "" where
    there is none, or they differ."""
    for repository in repositories:
        if isinstance(python := manifest(repository).get("python"), str) and python:
            return python
    pythons = set()
    for model in (model for repository in repositories for model in repository.models_read):
        with contextlib.suppress(UnknownValueError):
            environment = None if has_stub(model) else environment_of(model)
            if environment and len(environment.pythons) == 1:
                pythons.add(environment.pythons[0])
    return pythons.pop() if len(pythons) == 1 else ""
