"""Builds an ensemble: check, plan, make, stage, pack, and check what was packed. An unchanged archive is kept."""

import json
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.archive.write import Packed, write_archive
from triton_ensembles.building.built import Built, built_of, last_built
from triton_ensembles.building.made.artifact_builder import ArtifactBuilder
from triton_ensembles.building.made.environments import make_environments
from triton_ensembles.building.made.fused_packages import make_packages, onnxruntime_of
from triton_ensembles.building.made.mapped_weights import map_weights
from triton_ensembles.building.made.sources import Sources, SourceUnavailableError
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.made.tensorrt_plans import find_plans
from triton_ensembles.building.packed.fused_staging import stage_fused
from triton_ensembles.building.packed.inputs import digest_of_inputs
from triton_ensembles.building.packed.manifest import manifest_of
from triton_ensembles.building.packed.proof import prove
from triton_ensembles.building.packed.staging import place, stage
from triton_ensembles.building.planned.fusion import fuse
from triton_ensembles.building.planned.model_selection import with_needs
from triton_ensembles.building.planned.plan import BuildPlan, plan_build
from triton_ensembles.building.planned.refusal import refuse_faults, warnings_of
from triton_ensembles.building.request import BuildRequest, Proof
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import file_digest, locked, read_json, remove, write_file
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.system_errors import naming
from triton_ensembles.project.recipe.implied import Implied
from triton_ensembles.project.recipe.places import LOCKS, RECIPE
from triton_ensembles.project.recipe.source import Source


def build(request: BuildRequest, progress: Progress, sources: Sources | None = None) -> Built:
    """Build what is requested into dist/TARGET/NAME.tar.gz, or dist/NAME.tar.gz for an implied recipe.

    For an image, dist/TARGET/IMAGE/NAME.tar.gz is the same file; for another image than the project's default, only
    that is written. ``sources``: what :func:`ask_sources` was called with, if it was.

    Raises:
        EnsembleError: anything that the user can fix. The previous archive is unchanged.
    """
    places = request.places
    with (
        _naming_origin(request),
        places.building(progress),
        locked(places.build / request.form / f".{request.name}.lock", progress),
    ):
        if request.implied:
            return _build_as_written(request, request.implied, progress)
        return _build_recipe(request, progress, sources)


def stage_written(request: BuildRequest, destination: Path, progress: Progress) -> None:
    """Stage the ensemble as it is written now into the folder ``destination``, and no more than that: it is not
    checked, and there is no archive. Raises :class:`EnsembleError`: a config or the recipe cannot be read, or a file
    cannot be made."""
    with request.places.building(progress):
        _parts_of(_builder(request, _planned(request), progress, None)).stage(destination)


def ask_sources(request: BuildRequest, sources: Sources, progress: Progress) -> None:
    """Look for all sources that the build of an ensemble will need, unless the archive is up to date or the ensemble
    has faults, which its build reports. Raises :class:`SourceUnavailableError`: one is not available, and may not be
    replaced by random weights."""
    try:
        plan = _planned(request)
        if _unchanged(request, digest_of_inputs(plan, None)):
            return
    except EnsembleError:
        return
    needed = with_needs(plan.recipe, plan.artifacts)
    random = {artifact.source for artifact in needed if artifact.random} if request.weights.allow_random else set()
    with request.places.building(progress):
        for name, source in _sources_of(plan).items():
            try:
                sources.files(name, source, plan.folder / RECIPE, plan.root, progress)
            except SourceUnavailableError:
                if name not in random:
                    raise


def _build_recipe(request: BuildRequest, progress: Progress, sources: Sources | None) -> Built:
    message = f"{request.name} has faults, so nothing was built"
    known_as = {request.folder: request.origin, **request.written_for} if request.origin else {}
    report = refuse_faults(request.folder, request.destination, message, known_as)
    for line in warnings_of(report) if request.origin else ():  # of an ensemble of the project, check prints them
        progress(line)
    plan = _planned(request)
    inputs = digest_of_inputs(plan, request.engines_from)
    if built := _unchanged(request, inputs):
        if built.proof < request.proof:
            prove(request, built.archive, built.manifest["python"], plan.written, progress)
            write_file(request.state, _text(read_json(request.state) | {"proof": request.proof}))
        return built
    builder = _builder(request, plan, progress, sources)
    for line in plan.descriptions():
        progress(line)
    locks = _locks(plan.folder)
    parts = _parts_of(builder)
    packing = _write_archive(request, parts, progress)
    downloaded = {sha256 for source in _sources_of(plan).values() for sha256 in source.files.values()}
    state = {
        "inputs": digest_of_inputs(plan, request.engines_from) if _locks(plan.folder) != locks else inputs,
        "archive": file_digest(request.archive),
        "proof": request.proof,
        "deflated": packing.places,  # which the next build copies
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "made_with": sorted(builder.store.used | downloaded),  # their names in the store and the downloads
    }
    write_file(request.state, _text(state))
    if request.target.image and request.form == request.target.name:
        _keep_beside(request)
    return built_of(request.name, request.form, request.places, state, parts.manifest, changed=True)


def _build_as_written(request: BuildRequest, implied: Implied, progress: Progress) -> Built:
    archive = request.archive
    before = file_digest(archive) if archive.is_file() else ""
    _write_archive(request, _parts_as_written(implied), progress)
    sha256 = file_digest(archive)
    return Built(request.name, archive, implied.repository, sha256, {}, "", sha256 != before, request.proof)


def _planned(request: BuildRequest) -> BuildPlan:
    plan = plan_build(request.folder, request.target, request.places.root)
    return replace(plan, locked=request.keep_locks, origin=request.origin)


def _builder(request: BuildRequest, plan: BuildPlan, progress: Progress, sources: Sources | None) -> ArtifactBuilder:
    plans = find_plans(plan.name, plan.artifacts, plan.target, request.engines_from)
    downloads = sources or Sources(request.weights.weights_dir, request.places.downloads)
    return ArtifactBuilder(plan, Store(request.places.store), downloads, progress, request.weights.allow_random, plans)


def _locks(folder: Path) -> dict[str, str]:
    return {path.name: file_digest(path) for path in (folder / LOCKS).glob("*.lock")}


def _sources_of(plan: BuildPlan) -> dict[str, Source]:
    """The sources that the plan's artifacts are made from, by name."""
    needed = {artifact.source for artifact in with_needs(plan.recipe, plan.artifacts)}
    return {name: source for name, source in plan.recipe.sources.items() if name in needed}


def _unchanged(request: BuildRequest, inputs: str) -> Built | None:
    """The archive that was made from these inputs, unless its random weights might be replaced now."""
    built = last_built(request.name, request.form, request.places)
    retries = request.weights.weights_dir is not None or not request.weights.allow_random
    return built if built and built.inputs == inputs and not (built.random and retries) else None


@dataclass(frozen=True)
class _Parts:
    """Parts that an archive is packed from."""

    stage: Callable[[Path], None]  # writes the repository into a folder
    manifest: dict[str, Any]  # {}: the archive has none
    python: str  # the minor version that its Python code is for, if that of the server matters
    written: Mapping[str, Path]  # the folder of each model as people wrote it, with its examples

    def write(self, folder: Path) -> None:
        """Stage the repository and its manifest."""
        self.stage(folder)
        if self.manifest:
            (folder / MANIFEST).write_text(json.dumps(self.manifest, indent=2, sort_keys=True) + "\n")


def _parts_as_written(implied: Implied) -> _Parts:
    """The files of a repository with an implied recipe. Raises :class:`EnsembleError`: an archive cannot hold them."""
    files = dict(implied.files())

    def stage_files(folder: Path) -> None:
        for inner, path in files.items():
            if path.is_dir():
                (folder / inner).mkdir(parents=True, exist_ok=True)
            else:
                place(path, folder / inner)

    return _Parts(stage_files, {}, implied.python, implied.written)


def _parts_of(builder: ArtifactBuilder) -> _Parts:
    """Make the environments and the artifacts of the builder's plan, in the form of its target."""
    plan, store, progress = builder.plan, builder.store, builder.progress
    stage_with: Callable[..., None]
    onnxruntime = None
    if plan.target.fuses:
        fusion = fuse(plan)
        packages = make_packages(plan, fusion.models, store, progress)
        stage_with = partial(stage_fused, plan, fusion=fusion, packages=packages.path)
        records, python = {"fused": packages.record("wheels")}, plan.target.python
        onnxruntime = onnxruntime_of(packages, store, progress)
    else:
        environments = make_environments(plan, store, progress)
        stage_with = partial(stage, plan, environments=environments)
        records = {name: environment.record for name, environment in environments.items()}
        own = (environment.record["python"] for environment in environments.values() if environment.stub is None)
        python = plan.target.python or next(own, "")
    artifacts = {artifact.path: builder.make(artifact) for artifact in plan.artifacts}
    artifacts = map_weights(plan, artifacts, store, progress, onnxruntime)
    paths = {path: artifact.path for path, artifact in artifacts.items()}
    manifest = manifest_of(plan, artifacts, records, python)
    return _Parts(partial(stage_with, artifacts=paths), manifest, python, plan.written)


def _write_archive(request: BuildRequest, parts: _Parts, progress: Progress) -> Packed:
    """Stage, pack, check and prove in folders that nobody reads; then replace the previous archive and repository."""
    archive = request.archive
    kept = None if request.implied else request.repository
    with _scratch(kept or archive.with_name(request.name)) as staged, _scratch(archive) as packed:
        parts.write(staged)
        new = packed / archive.name  # under its final name, which is checked as well
        packing = write_archive(staged, new, earlier=_earlier(archive, request.state), progress=progress)
        message = f"the archive of {shown(request.origin or request.folder)} has faults, so it was not written"
        refuse_faults(new, request.destination, message, {new: request.shown_as})
        if request.proof is not Proof.NONE:
            prove(request, new, parts.python, parts.written, progress)
        new.replace(archive)
        if kept:
            remove(kept)
            staged.replace(kept)
    return packing


def _earlier(archive: Path, state_file: Path) -> Packed | None:
    """The archive that is replaced, unless it or the record of its build is damaged, or another zlib packed it."""
    try:
        state = read_json(state_file)
        places = {sha256: (int(start), int(length)) for sha256, (start, length) in state["deflated"].items()}
        is_whole = state["zlib"] == zlib.ZLIB_RUNTIME_VERSION and file_digest(archive) == state["archive"]
        return Packed(archive, places) if is_whole else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _text(state: Mapping[str, Any]) -> str:
    return json.dumps(state, indent=2, sort_keys=True)


def _keep_beside(request: BuildRequest) -> None:
    """Give the archive a second name, in the folder of its image, which a build for another image leaves alone."""
    beside = request.places.archive(f"{request.target.name}/{request.target.image}", request.name)
    beside.parent.mkdir(exist_ok=True)
    remove(beside)
    beside.hardlink_to(request.archive)


@contextmanager
def _naming_origin(request: BuildRequest) -> Iterator[None]:
    """Let an error be about the file of the user that was imported, and not about its copy."""
    try:
        yield
    except EnsembleError as error:
        if request.origin and error.path and error.path.is_relative_to(request.folder):
            error.path = request.origin / error.path.relative_to(request.folder)
        elif request.origin and error.path and error.path.is_relative_to(request.places.root):
            error.path, error.line = request.written_for.get(error.path, request.origin), None
        raise


@contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """An empty hidden folder beside ``path``, on the same file system; one that a killed build left is emptied."""
    folder = path.with_name(f".{path.name}.partial")
    remove(folder)
    folder.mkdir(parents=True)
    try:
        with naming(path):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
