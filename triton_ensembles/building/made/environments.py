"""The environments of a recipe, for the Python of the server that will run them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.artifacts import environment
from triton_ensembles.artifacts.environment import make_packed_environment, read_environment_file
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.building.made.lock import Lock, locked_entry
from triton_ensembles.building.made.step_wheels import make_wheels, steps_that_import
from triton_ensembles.building.made.store import Entry, Store
from triton_ensembles.building.planned.plan import BuildPlan
from triton_ensembles.ground import programs
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest, size_of
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.schema import Environment
from triton_ensembles.triton import interpreter
from triton_ensembles.triton.home import VERSION, find_home, server_python
from triton_ensembles.triton.releases import version
from triton_ensembles.triton.targets import Target


@dataclass(frozen=True)
class MadeEnvironment:
    """An environment in the store."""

    path: Path  # the folder of a packed environment, or of unpacked wheels
    steps: tuple[str, ...]  # those that get it
    stub: Path | None  # the Triton stub for its Python, when the server's own stub is for another Python
    record: dict[str, Any]  # its entry in the manifest


def make_environments(plan: BuildPlan, store: Store, progress: Progress) -> dict[str, MadeEnvironment]:
    """Make every environment of the plan's recipe, by name. Raises :class:`EnsembleError`: one cannot be made, or does
    not run in the target's image."""
    return {name: _make(wanted, plan, store, progress) for name, wanted in plan.recipe.environments.items()}


def code_of(*modules: Any) -> dict[str, str]:
    """The digests of modules whose code affects what is made."""
    return {module.__name__: file_digest(Path(module.__file__)) for module in modules}


def environment_code() -> dict[str, str]:
    """The digests of all code that affects an environment."""
    assert environment.__file__ is not None
    files = sorted(Path(environment.__file__).parent.glob("*.py"))
    return {f"environment.{path.stem}": file_digest(path) for path in files} | code_of(programs, interpreter)


def _make(wanted: Environment, plan: BuildPlan, store: Store, progress: Progress) -> MadeEnvironment:
    stub, steps = None, wanted.steps
    if wanted.kind == "wheels":
        entry = make_wheels(wanted, plan, store, environment_code(), progress)
        steps = steps_that_import(entry.path, wanted, plan, progress)
    else:
        entry = _pack(wanted, plan, store, progress)
        _refuse_newer_glibc(entry, plan.root / wanted.file, plan.target)
        stub = _stub(entry.facts["python"], plan.root / wanted.file, plan.target)
    record = {"kind": wanted.kind, "sha256": entry.sha256, "size": size_of(entry.path), "file": wanted.file}
    return MadeEnvironment(entry.path, steps, stub, record | entry.facts)


def _pack(wanted: Environment, plan: BuildPlan, store: Store, progress: Progress) -> Entry:
    target, file = plan.target, plan.root / wanted.file
    spec = read_environment_file(file)
    if target.python:
        spec = spec.for_python(target.python, exactly=target.release.triton != VERSION)

    asked = [*spec.conda_specs, *spec.pip_packages]
    lock = Lock(plan.folder, file.stem, spec.python or server_python(), asked, frozen=plan.locked)

    def make(output: Path, pins: list[Pins]) -> dict[str, Any]:
        options: dict[str, Any] = {"exclude": wanted.exclude, "progress": progress, "pins": pins[0]}
        packed = make_packed_environment(spec, destination=output, **options)
        facts = ("python", "provider", "glibc", "packages")
        return {fact: getattr(packed, fact) for fact in facts}

    origin = {
        "file": file_digest(file),
        "exclude": wanted.exclude,
        "python": target.python or server_python(),
        "code": environment_code(),
    }
    return locked_entry(store, "environment", origin, [lock], make, progress)


def _stub(python: str, file: Path, target: Target) -> Path | None:
    """The stub to put into the archive. A stub is for one release of Triton."""
    if python == (target.python or server_python()):
        return None
    if target.release.triton != VERSION:
        message = f"the environment has Python {python}, and {target.server} has a stub for Python {target.python} only"
        cure = f"install Python {target.python} with its shared library on the machine that builds"
        raise EnsembleError(message, path=file, cure=cure)
    return find_home().stub(python)


def _refuse_newer_glibc(entry: Entry, file: Path, target: Target) -> None:
    """The Python of this machine may need a newer C library than the image has, and would not start there."""
    has = target.release.glibc if target.image else None
    if has and version(entry.facts["glibc"]) > has:
        raise EnsembleError(
            f"the environment that was packed here needs glibc {entry.facts['glibc']}, and {target.server} "
            f"(Ubuntu {target.release.ubuntu}) has {'.'.join(map(str, has))}",
            path=file,
            cure="build where a conda channel is reachable, or on a distribution that is not newer than the image's",
        )
