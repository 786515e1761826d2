"""Builds an ensemble: check, plan, make, stage, pack, and check what was packed. An unchanged archive is kept."""

import json
import shutil
import zlib
from collections.abc import Callable, Iterator
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
from triton_ensembles.building.packed.proof import prove as prove_archive
from triton_ensembles.building.packed.staging import stage
from triton_ensembles.building.places import Places, Weights
from triton_ensembles.building.planned.fusion import fuse
from triton_ensembles.building.planned.model_selection import with_needs
from triton_ensembles.building.planned.plan import BuildPlan, plan_build
from triton_ensembles.building.planned.refusal import refuse_faults
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import file_digest, locked, read_json, remove, write_file
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.system_errors import naming
from triton_ensembles.project.recipe.places import LOCKS, RECIPE
from triton_ensembles.project.recipe.source import Source
from triton_ensembles.triton.targets import Target


def build(
    folder: Path,
    target: Target,
    places: Places,
    *,
    allow_random: bool,
    progress: Progress,
    weights_dir: Path | None = None,
    engines_from: Path | None = None,
    sources: Sources | None = None,
    prove: bool = False,
    ask: bool = True,
    keep_locks: bool = False,
) -> Built:
    """Build the ensemble in ``folder`` for ``target`` into dist/TARGET/NAME.tar.gz.

    For an image, dist/TARGET/IMAGE/NAME.tar.gz is the same file; for another image than the project's default, only
    that is written.

    Args:
        allow_random: use seeded random weights if a source is not available (WEIGHTS=auto).
        weights_dir: a folder of source files that the user already has.
        engines_from: a folder with TensorRT plans that were built on another machine.
        sources: what :func:`ask_sources` was called with, if it was.
        prove: load the archive once in the server on this machine, which the target is for, unless that was done.
        ask: when it is proven, also send each of its models a request.
        keep_locks: refuse to write or renew the locks of the environments.

    Raises:
        EnsembleError: anything that the user can fix. The previous archive is unchanged.
    """
    form = places.form(target.name, target.image)
    with places.building(progress), locked(places.build / form / f".{folder.name}.lock", progress):
        refuse_faults(folder, target.destination, f"{folder.name} has faults, so nothing was built")
        plan = replace(plan_build(folder, target, places.root), locked=keep_locks)
        inputs, state_file = digest_of_inputs(plan, engines_from), places.state(form, plan.name)
        if built := _unchanged(plan, inputs, places, retry_weights=weights_dir is not None or not allow_random):
            if prove and not (built.asked if ask else built.proven):
                _prove(built.archive, plan, places, built.manifest["python"], progress, ask=ask)
                state = read_json(state_file) | {"proven": True, "asked": ask}
                write_file(state_file, json.dumps(state, indent=2, sort_keys=True))
            return built
        plans = find_plans(plan.name, plan.artifacts, target, engines_from, progress)
        for line in plan.descriptions():
            progress(line)
        store, downloads = Store(places.store), sources or Sources(weights_dir, places.downloads)
        locks = _locks(folder)
        artifacts = _make(ArtifactBuilder(plan, store, downloads, progress, allow_random, plans))
        python = artifacts.python
        proof = partial(_prove, plan=plan, places=places, python=python, progress=progress, ask=ask) if prove else None
        packing = _write_archive(plan, places, artifacts, progress, proof)
        downloaded = {sha256 for source in _sources_of(plan).values() for sha256 in source.files.values()}
        state = {
            "inputs": digest_of_inputs(plan, engines_from) if _locks(folder) != locks else inputs,
            "archive": file_digest(places.archive(form, plan.name)),
            "proven": prove,
            "asked": prove and ask,
            "deflated": packing.places,  # which the next build copies
            "zlib": zlib.ZLIB_RUNTIME_VERSION,
            "made_with": sorted(store.used | downloaded),  # their names in the store and the downloads
        }
        write_file(state_file, json.dumps(state, indent=2, sort_keys=True))
        if target.image and form == target.name:
            _keep_beside(places, plan)
        return built_of(plan.name, form, places, state, artifacts.manifest, changed=True)


def stage_written(
    folder: Path, target: Target, places: Places, destination: Path, weights: Weights, progress: Progress
) -> None:
    """Stage the ensemble in ``folder`` as it is written now into the folder ``destination``, and no more than that: it
    is not checked, and there is no archive. The arguments are those of :func:`build`. Raises :class:`EnsembleError`: a
    config or the recipe cannot be read, or a file cannot be made."""
    with places.building(progress):
        plan = plan_build(folder, target, places.root)
        downloads = Sources(weights.weights_dir, places.downloads)
        plans = find_plans(plan.name, plan.artifacts, target, None, progress)
        builder = ArtifactBuilder(plan, Store(places.store), downloads, progress, weights.allow_random, plans)
        _make(builder).write(destination)


def _locks(folder: Path) -> dict[str, str]:
    return {path.name: file_digest(path) for path in (folder / LOCKS).glob("*.lock")}


def ask_sources(
    folder: Path, target: Target, places: Places, sources: Sources, *, allow_random: bool, progress: Progress
) -> None:
    """Look for all sources that the build of an ensemble will need, unless the archive is up to date or the ensemble
    has faults, which its build reports. Raises :class:`SourceUnavailableError`: one is not available, and may not be
    replaced by random weights."""
    try:
        plan = plan_build(folder, target, places.root)
        retry_weights = sources.folder is not None or not allow_random
        if _unchanged(plan, digest_of_inputs(plan, None), places, retry_weights=retry_weights):
            return
    except EnsembleError:
        return
    needed = with_needs(plan.recipe, plan.artifacts)
    random = {artifact.source for artifact in needed if artifact.random} if allow_random else set()
    with places.building(progress):
        for name, source in _sources_of(plan).items():
            try:
                sources.files(name, source, folder / RECIPE, plan.root, progress)
            except SourceUnavailableError:
                if name not in random:
                    raise


def _sources_of(plan: BuildPlan) -> dict[str, Source]:
    """The sources that the plan's artifacts are made from, by name."""
    needed = {artifact.source for artifact in with_needs(plan.recipe, plan.artifacts)}
    return {name: source for name, source in plan.recipe.sources.items() if name in needed}


def _unchanged(plan: BuildPlan, inputs: str, places: Places, *, retry_weights: bool) -> Built | None:
    """The archive that was made from these inputs, unless its random weights might be replaced now."""
    built = last_built(plan.name, places.form(plan.target.name, plan.target.image), places)
    return built if built and built.inputs == inputs and not (built.random and retry_weights) else None


@dataclass(frozen=True)
class _Made:
    """Parts that an archive is packed from."""

    stage: Callable[[Path], None]  # writes the repository into a folder
    manifest: dict[str, Any]
    python: str  # the minor version that its Python code is for, if that of the server matters

    def write(self, folder: Path) -> None:
        """Stage the repository and its manifest."""
        self.stage(folder)
        (folder / MANIFEST).write_text(json.dumps(self.manifest, indent=2, sort_keys=True) + "\n")


def _make(builder: ArtifactBuilder) -> _Made:
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
    return _Made(partial(stage_with, artifacts=paths), manifest_of(plan, artifacts, records, python), python)


def _write_archive(
    plan: BuildPlan, places: Places, parts: _Made, progress: Progress, proof: Callable[[Path], None] | None
) -> Packed:
    """Stage, pack, check and prove in folders that nobody reads; then replace the previous archive and repository."""
    form = places.form(plan.target.name, plan.target.image)
    archive, repository = (place(form, plan.name) for place in (places.archive, places.repository))
    with _scratch(repository) as staged, _scratch(archive) as packed:
        parts.write(staged)
        new = packed / archive.name  # under its final name, which is checked as well
        packing = write_archive(
            staged, new, earlier=_earlier(archive, places.state(form, plan.name)), progress=progress
        )
        message = f"the new archive has faults, so {shown(archive)} was not replaced"
        refuse_faults(new, plan.target.destination, message, archive)
        if proof:
            proof(new)
        new.replace(archive)
        remove(repository)
        staged.replace(repository)
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


def _keep_beside(places: Places, plan: BuildPlan) -> None:
    """Give the archive a second name, in the folder of its image, which a build for another image leaves alone."""
    beside = places.archive(f"{plan.target.name}/{plan.target.image}", plan.name)
    beside.parent.mkdir(exist_ok=True)
    remove(beside)
    beside.hardlink_to(places.archive(plan.target.name, plan.name))


def _prove(archive: Path, plan: BuildPlan, places: Places, python: str, progress: Progress, *, ask: bool) -> None:
    form = places.form(plan.target.name, plan.target.image)
    log = places.build / form / f"{plan.name}.proof.log"
    written = {name: plan.folder / step for name, step in plan.folders.items()} if ask else None
    single = plan.target.destination.single
    prove_archive(archive, places.archive(form, plan.name), python, log, progress, written, single)


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
