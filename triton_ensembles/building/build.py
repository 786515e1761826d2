"""Build ensembles: recipe -> artifacts -> staged repository -> archive. What has not changed is not made again."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.archive import write
from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.archive.write import remove_leftovers, write_archive
from triton_ensembles.building import config_rewrite, gpu_config, model_selection, staging
from triton_ensembles.building.artifact_builder import Progress, Workshop, makers_of
from triton_ensembles.building.model_selection import artifacts_for, choose_models, with_needs
from triton_ensembles.building.packed_environments import code_of, environment_code, make_environments
from triton_ensembles.building.places import Places
from triton_ensembles.building.recipe import Artifact, Recipe, find_ensembles, read_recipe
from triton_ensembles.building.staging import read_models, stage, staged_configs
from triton_ensembles.building.store import Store
from triton_ensembles.building.tensorrt_plans import settle_plans
from triton_ensembles.check import check
from triton_ensembles.check.formats import as_text
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.examples.folder import examples_folder
from triton_ensembles.files import digest, file_digest, locked
from triton_ensembles.triton import backends, model_config, releases, targets
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.home import server_python
from triton_ensembles.triton.targets import Target


@dataclass(frozen=True)
class Built:
    """An archive as it stands in dist/, its manifest, the digest of its inputs, and whether this build did anything."""

    name: str
    archive: Path
    repository: Path
    sha256: str
    manifest: dict[str, Any]
    inputs: str
    changed: bool

    @property
    def random(self) -> bool:
        return bool(self.manifest["weights"] == "random")


def choose(root: Path, names: Sequence[str]) -> list[Path]:
    """The folders of the named ensembles, all of them when no name is given. Raises :class:`EnsembleError`."""
    have = {folder.name: folder for folder in find_ensembles(root)}
    if not have:
        raise EnsembleError("no ensembles here", path=root, cure="an ensemble is a folder with an ensemble.toml")
    for name in names:
        if name not in have:
            raise EnsembleError(f"there is no ensemble {name!r}", path=root, cure=f"there are {', '.join(have)}")
    return [have[name] for name in names or have]


def build(
    folder: Path,
    target: Target,
    places: Places,
    *,
    allow_random: bool,
    progress: Progress,
    weights_dir: Path | None = None,
    engines_from: Path | None = None,
) -> Built:
    """Build the ensemble in ``folder`` for ``target`` into ``places.archive(target.name, folder.name)``.

    Args:
        allow_random: go on with seeded random weights where a source cannot be had (WEIGHTS=auto).
        weights_dir: a folder in which the user has put source files.
        engines_from: a folder with TensorRT plans that were built elsewhere.

    Raises:
        EnsembleError: anything that the user can mend. The former archive stays as it was.
    """
    name = folder.name
    recipe = read_recipe(folder)
    with locked(places.build / target.name / f".{name}.lock", progress):
        _refuse_faults(folder, target)
        chosen = choose_models(recipe, read_models(folder), target)
        artifacts = artifacts_for(recipe, chosen)
        inputs = digest(_inputs(folder, recipe, artifacts, target, engines_from, places.root))
        retry_weights = weights_dir is not None or not allow_random
        if built := _unchanged(name, target, places, inputs, retry_weights):
            return built
        staged_configs(folder, name, recipe, target)  # what cannot be staged is said before anything is made
        plans = settle_plans(name, artifacts, target, engines_from, progress)
        for step, each in chosen.items():
            why = f", since {target.server} has no {each.instead_of}" if each.instead_of else ""
            progress(f"{step}: {each.backend} runs {each.file.name}{why}")
        workshop = Workshop(
            recipe=recipe,
            target=target,
            store=Store(places.store),
            downloads=places.downloads,
            progress=progress,
            allow_random=allow_random,
            weights_dir=weights_dir,
            plans=plans,
            root=places.root,
        )
        environments, environment_records = make_environments(recipe, target, workshop.store, progress, places.root)
        made = {artifact.path: workshop.make(artifact) for artifact in artifacts}
        manifest = {
            "ensemble": name,
            "target": target.name,
            "image": target.image,
            "instance": target.instance,
            "triton": target.release.triton,
            "weights": "random" if any(each.random for each in made.values()) else "pretrained",
            "artifacts": {path: each.record for path, each in made.items()},
            "environments": environment_records,
        }
        repository, archive = places.repository(target.name, name), places.archive(target.name, name)
        partial = repository.with_name(f".{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            paths = {path: each.path for path, each in made.items()}
            stage(folder, partial, name=name, recipe=recipe, target=target, artifacts=paths, environments=environments)
            (partial / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")
            remove_leftovers(archive)
            write_archive(partial, archive, progress=progress)
            shutil.rmtree(repository, ignore_errors=True)
            partial.replace(repository)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        sha256 = file_digest(archive)
        _write(places.state(target.name, name), {"inputs": inputs, "archive": sha256})
        return Built(name, archive, repository, sha256, manifest, inputs, changed=True)


def _refuse_faults(folder: Path, target: Target) -> None:
    """What the checker calls an error would fail at load time; nothing is fetched or made for it."""
    started = time.perf_counter()
    report = check([folder], Destination(target.name))
    if report.errors:
        faults = as_text(report, time.perf_counter() - started)
        raise EnsembleError(f"{folder.name} has faults, so nothing was built\n{faults}")


def last_built(name: str, target: str, places: Places) -> Built | None:
    """What dist/ holds for this ensemble, if it is whole; None when it was never built or is damaged."""
    repository = places.repository(target, name)
    try:
        state = json.loads(places.state(target, name).read_text())
        manifest = json.loads((repository / MANIFEST).read_text())
        sha256 = file_digest(places.archive(target, name))
    except (OSError, ValueError):
        return None
    if sha256 != state["archive"]:
        return None
    return Built(name, places.archive(target, name), repository, sha256, manifest, state["inputs"], changed=False)


def _unchanged(name: str, target: Target, places: Places, inputs: str, retry_weights: bool) -> Built | None:
    built = last_built(name, target.name, places)
    if built is None or built.inputs != inputs or (built.random and retry_weights):
        return None
    return built


def _inputs(
    folder: Path, recipe: Recipe, artifacts: Sequence[Artifact], target: Target, engines_from: Path | None, root: Path
) -> dict[str, Any]:
    """All that decides the archive's content and can be known without a network."""
    made = with_needs(recipe, artifacts)
    read = {path for artifact in made for path in artifact.reads}
    read |= {environment.file for environment in recipe.environments.values()}
    examples = examples_folder(folder)  # archives leave them out
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    written = [path for path in files if not path.is_relative_to(examples)]
    plans = sorted(engines_from.glob(f"{folder.name}.*")) if engines_from else []
    return {
        "target": [target.name, target.image, target.instance],
        "python": server_python(),
        "files": {path.relative_to(folder).as_posix(): file_digest(path) for path in written},
        "plans": {path.name: file_digest(path) for path in plans if path.is_file()},
        "reads": {path: file_digest(_project_file(root / path, folder)) for path in sorted(read)},
        "makers": [maker.identity() for artifact in made for maker in makers_of(artifact)],
        "code": code_of(
            *(write, model_config, staging, targets, backends, model_selection, config_rewrite, gpu_config, releases)
        )
        | (environment_code() if recipe.environments else {}),
        "releases": file_digest(releases.TABLE),
    }


def _project_file(path: Path, folder: Path) -> Path:
    if not path.is_file():
        raise EnsembleError(f"the recipe names {shown(path)}, which does not exist", path=folder / "ensemble.toml")
    return path


def _write(path: Path, value: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, indent=2, sort_keys=True))
    partial.replace(path)
