"""Build ensembles: recipe -> artifacts -> staged repository -> archive. What has not changed is not made again."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles import archive as archive_module
from triton_ensembles import environment as environment_module
from triton_ensembles import gzip_member, modelconfig, staging, targets
from triton_ensembles.archive import remove_leftovers, write_archive
from triton_ensembles.check import Target as CheckTarget
from triton_ensembles.check import check
from triton_ensembles.check.formats import as_text
from triton_ensembles.environment import make_packed_environment, read_environment_file
from triton_ensembles.errors import EnsembleError
from triton_ensembles.home import VERSION, find_home, server_python
from triton_ensembles.making import Progress, make_artifact, makers_of
from triton_ensembles.paths import ROOT
from triton_ensembles.recipe import Environment, Recipe, find_ensembles, read_recipe
from triton_ensembles.staging import StagedEnvironment, stage
from triton_ensembles.store import Store, digest, file_digest, locked
from triton_ensembles.targets import Target

MANIFEST = "manifest.json"
_STORED_ENVIRONMENT = "environment.tar.gz"  # in the store; an archive names it after the recipe


@dataclass(frozen=True)
class Places:
    """Where a build reads and writes."""

    ensembles: Path
    build: Path
    dist: Path

    @property
    def store(self) -> Path:
        return self.build / "store"

    @property
    def downloads(self) -> Path:
        return self.build / "downloads"

    def repository(self, target: Target, name: str) -> Path:
        return self.build / target.name / name

    def archive(self, target: Target, name: str) -> Path:
        return self.dist / target.name / f"{name}.tar.gz"

    def state(self, target: Target, name: str) -> Path:
        return self.build / target.name / f"{name}.state.json"


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
    weights_dir: Path | None,
    progress: Progress,
) -> Built:
    """Build the ensemble in ``folder`` for ``target`` into ``places.archive(target, folder.name)``.

    Args:
        allow_random: go on with seeded random weights where a source cannot be had (WEIGHTS=auto).
        weights_dir: a folder in which the user has put source files.

    Raises:
        EnsembleError: anything that the user can mend. The former archive stays as it was.
    """
    name = folder.name
    recipe = read_recipe(folder)
    inputs = digest(_inputs(folder, recipe, target))
    with locked(places.build / target.name / f".{name}.lock", progress):
        retry_weights = weights_dir is not None or not allow_random
        if built := _unchanged(name, target, places, inputs, retry_weights):
            return built
        _refuse_faults(folder, target)
        store = Store(places.store)
        made = {
            artifact.path: make_artifact(
                artifact,
                recipe,
                target,
                allow_random=allow_random,
                weights_dir=weights_dir,
                cache=places.downloads,
                store=store,
                progress=progress,
            )
            for artifact in recipe.artifacts_for(target.name)
        }
        environments, environment_records = _environments(recipe, store, progress)
        manifest = {
            "ensemble": name,
            "target": target.name,
            "triton": VERSION,
            "weights": "random" if any(each.random for each in made.values()) else "pretrained",
            "artifacts": {path: each.record for path, each in made.items()},
            "environments": environment_records,
        }
        repository = places.repository(target, name)
        partial = repository.with_name(f".{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            paths = {path: each.path for path, each in made.items()}
            stage(folder, partial, name=name, recipe=recipe, target=target, artifacts=paths, environments=environments)
            (partial / MANIFEST).write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")
            remove_leftovers(places.archive(target, name))
            write_archive(partial, places.archive(target, name), progress=progress)
            shutil.rmtree(repository, ignore_errors=True)
            partial.replace(repository)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        sha256 = file_digest(places.archive(target, name))
        _write(places.state(target, name), {"inputs": inputs, "archive": sha256})
        return Built(name, places.archive(target, name), repository, sha256, manifest, inputs, changed=True)


def _refuse_faults(folder: Path, target: Target) -> None:
    """What the checker calls an error would fail at load time; nothing is fetched or made for it."""
    started = time.perf_counter()
    report = check([folder], CheckTarget(target.name))
    if report.errors:
        faults = as_text(report, time.perf_counter() - started)
        raise EnsembleError(f"{folder.name} has faults, so nothing was built\n{faults}")


def last_built(name: str, target: Target, places: Places) -> Built | None:
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
    built = last_built(name, target, places)
    if built is None or built.inputs != inputs or (built.random and retry_weights):
        return None
    return built


def _inputs(folder: Path, recipe: Recipe, target: Target) -> dict[str, Any]:
    """All that decides the archive's content and can be known without a network."""
    artifacts = recipe.artifacts_for(target.name)
    read = {path for artifact in artifacts for path in artifact.reads}
    read |= {environment.file for environment in recipe.environments.values()}
    written = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {
        "target": target.name,
        "python": server_python(),
        "files": {path.relative_to(folder).as_posix(): file_digest(path) for path in written},
        "reads": {path: file_digest(_project_file(path, folder)) for path in sorted(read)},
        "makers": [maker.identity() for artifact in artifacts for maker in makers_of(artifact)],
        "code": _code(archive_module, gzip_member, modelconfig, staging, targets)
        | (_environment_code() if recipe.environments else {}),
    }


def _project_file(path: str, folder: Path) -> Path:
    if not (ROOT / path).is_file():
        raise EnsembleError(f"the recipe names {path}, which does not exist", path=folder / "ensemble.toml")
    return ROOT / path


def _code(*modules: Any) -> dict[str, str]:
    return {module.__name__: file_digest(Path(module.__file__)) for module in modules}


def _environment_code() -> dict[str, str]:
    folder = Path(environment_module.__file__).parent
    own = {f"environment.{path.stem}": file_digest(path) for path in sorted(folder.glob("*.py"))}
    return own | _code(archive_module, gzip_member)  # which pack it


def _environments(
    recipe: Recipe, store: Store, progress: Progress
) -> tuple[dict[str, StagedEnvironment], dict[str, Any]]:
    staged, records = {}, {}
    for name, environment in recipe.environments.items():
        staged[name], records[name] = _environment(name, environment, store, progress)
    return staged, records


def _environment(
    name: str, environment: Environment, store: Store, progress: Progress
) -> tuple[StagedEnvironment, dict[str, Any]]:
    spec = read_environment_file(ROOT / environment.file)
    member = f"{name}_env.tar.gz"

    def make(output: Path) -> dict[str, Any]:
        packed = make_packed_environment(spec, destination=output, exclude=environment.exclude, progress=progress)
        return {"python": packed.python, "provider": packed.provider, "packages": dict(packed.packages)}

    origin = {
        "file": file_digest(ROOT / environment.file),
        "exclude": environment.exclude,
        "python": server_python(),
        "code": _environment_code(),
    }
    entry, _ = store.get_or_make(digest(origin), _STORED_ENVIRONMENT, make)
    python = entry.facts["python"]
    stub = None if python == server_python() else find_home().stub(python)
    record = {"sha256": entry.sha256, "size": entry.path.stat().st_size, "file": environment.file, **entry.facts}
    return StagedEnvironment(entry.path, member, stub), record


def _write(path: Path, value: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, indent=2, sort_keys=True))
    partial.replace(path)
