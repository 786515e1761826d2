"""The packed environments of a recipe, for the Python of the server that will run them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from triton_ensembles import environment
from triton_ensembles.archive import write
from triton_ensembles.building.artifact_builder import Progress
from triton_ensembles.building.recipe import Environment, Recipe
from triton_ensembles.building.staging import StagedEnvironment
from triton_ensembles.building.store import Entry, Store
from triton_ensembles.environment import make_packed_environment, read_environment_file
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import digest, file_digest
from triton_ensembles.paths import ROOT
from triton_ensembles.triton.home import VERSION, find_home, server_python
from triton_ensembles.triton.releases import version
from triton_ensembles.triton.targets import Target

_STORED = "environment.tar.gz"  # in the store; an archive names it after the recipe


def make_environments(
    recipe: Recipe, target: Target, store: Store, progress: Progress, root: Path = ROOT
) -> tuple[dict[str, StagedEnvironment], dict[str, Any]]:
    """Every environment of the recipe, packed, by name; and what the manifest says of it.

    Args:
        root: the folder of the project, which the paths of environment files are relative to.

    Raises:
        EnsembleError: none can be made, or the one that was made does not run in the target's image.
    """
    staged, records = {}, {}
    for name, wanted in recipe.environments.items():
        entry = _make(root / wanted.file, wanted, target, store, progress)
        _refuse_newer_glibc(entry, root / wanted.file, target)
        stub = _stub(entry.facts["python"], root / wanted.file, target)
        staged[name] = StagedEnvironment(entry.path, stub)
        size = entry.path.stat().st_size
        records[name] = {"sha256": entry.sha256, "size": size, "file": wanted.file, **entry.facts}
    return staged, records


def code_of(*modules: Any) -> dict[str, str]:
    """The digests of modules whose code decides what is made."""
    return {module.__name__: file_digest(Path(module.__file__)) for module in modules}


def environment_code() -> dict[str, str]:
    assert environment.__file__ is not None
    files = sorted(Path(environment.__file__).parent.glob("*.py"))
    return {f"environment.{path.stem}": file_digest(path) for path in files} | code_of(write)


def _make(file: Path, wanted: Environment, target: Target, store: Store, progress: Progress) -> Entry:
    spec = read_environment_file(file)
    if target.python:
        spec = spec.for_python(target.python, exactly=target.release.triton != VERSION)

    def make(output: Path) -> dict[str, Any]:
        packed = make_packed_environment(spec, destination=output, exclude=wanted.exclude, progress=progress)
        return {
            "python": packed.python,
            "provider": packed.provider,
            "glibc": packed.glibc,
            "packages": dict(packed.packages),
        }

    origin = {
        "file": file_digest(file),
        "exclude": wanted.exclude,
        "python": target.python or server_python(),
        "code": environment_code(),
    }
    return store.get_or_make(digest(origin), _STORED, make)[0]


def _stub(python: str, file: Path, target: Target) -> Path | None:
    """The stub that an archive brings, because its Python is not the server's. Stubs are of one release of Triton."""
    if python == (target.python or server_python()):
        return None
    if target.release.triton != VERSION:
        raise EnsembleError(
            f"the environment has Python {python}, and {target.server} has a stub for Python {target.python} only",
            path=file,
            cure=f"install Python {target.python} with its shared library where you build",
        )
    return find_home().stub(python)


def _refuse_newer_glibc(entry: Entry, file: Path, target: Target) -> None:
    """A Python of this machine may need a newer C library than the image has; it would not start there."""
    has = target.release.glibc if target.image else None
    if has and version(entry.facts["glibc"]) > has:
        raise EnsembleError(
            f"the environment that was made here needs glibc {entry.facts['glibc']}, and {target.server} "
            f"(Ubuntu {target.release.ubuntu}) has {'.'.join(map(str, has))}",
            path=file,
            cure="let a conda channel be within reach, or build on a distribution that is not newer than the image's",
        )
