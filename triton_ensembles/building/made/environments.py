"""The environments of a recipe, for the Python of the server that will run them."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from triton_ensembles.artifacts import environment
from triton_ensembles.artifacts.environment import make_packed_environment
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.pip_failures import WheelError
from triton_ensembles.artifacts.environment.wheels import Wheels, install_wheels
from triton_ensembles.building.made.lock import Lock, locked_entry
from triton_ensembles.building.made.store import Entry, Store
from triton_ensembles.building.planned.plan import BuildPlan, written_paths
from triton_ensembles.ground import programs
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec, read_environment_file
from triton_ensembles.project.recipe.schema import Environment
from triton_ensembles.server import interpreter
from triton_ensembles.server.home import find_home
from triton_ensembles.triton.pip_server import VERSION, glibc_version, server_python
from triton_ensembles.triton.releases import version
from triton_ensembles.triton.targets import Target

_OLD_NUMPY = "numpy<2"  # for stubs whose pybind11 misreads the arrays of numpy 2
NUMPY = ("*/site-packages/numpy/*", "*/site-packages/numpy-*", "*/site-packages/numpy.libs/*")
# What imports a module whose name the code computes.
_DYNAMIC = frozenset(("__import__", "exec", "eval", "importlib", "imp", "pkgutil", "runpy"))


@dataclass(frozen=True)
class MadeEnvironment:
    """An environment in the store."""

    path: Path  # the folder of a packed environment, or of unpacked wheels
    steps: tuple[str, ...]  # those that get it
    stub: Path | None  # the Triton stub for its Python, when the server's own stub is for another Python
    record: dict[str, Any]  # its entry in the manifest


def make_environments(plan: BuildPlan, store: Store, progress: Progress) -> dict[str, MadeEnvironment]:
    """The recipe's environments, by name. Raises :class:`EnsembleError`: one cannot be made, or run in the image."""
    return {name: _make(recipe, plan, store, progress) for name, recipe in plan.recipe.environments.items()}


def code_of(*modules: Any) -> dict[str, str]:
    """The digests of modules whose code affects what is made."""
    return {module.__name__: file_digest(Path(module.__file__)) for module in modules}


def environment_code() -> dict[str, str]:
    """The digests of all code that affects an environment."""
    assert environment.__file__ is not None
    files = sorted(Path(environment.__file__).parent.glob("*.py"))
    return {f"environment.{path.stem}": file_digest(path) for path in files} | code_of(programs, interpreter)


def _make(recipe: Environment, plan: BuildPlan, store: Store, progress: Progress) -> MadeEnvironment:
    stub, steps = None, recipe.steps
    if recipe.kind == "wheels":
        entry = _unpack_wheels(recipe, plan, store, progress)
        steps = steps_that_import(entry.path, recipe, plan, progress)
    else:
        entry = _pack(recipe, plan, store, progress)
        _refuse_newer_glibc(entry, plan.root / recipe.file, plan.target)
        stub = _stub(entry.facts["python"], plan.root / recipe.file, plan.target)
    return MadeEnvironment(entry.path, steps, stub, entry.record(recipe.kind) | {"file": recipe.file})


def _pack(recipe: Environment, plan: BuildPlan, store: Store, progress: Progress) -> Entry:
    target, file = plan.target, plan.root / recipe.file
    spec = read_environment_file(file)
    if target.python:
        spec = spec.for_python(target.python, exactly=target.release.triton != VERSION)
    requirements = [*spec.conda_specs, *spec.pip_packages]
    lock = Lock(plan, file.stem, spec.python or server_python(), requirements)

    def make(output: Path, pins: list[Pins]) -> dict[str, Any]:
        options: dict[str, Any] = {"exclude": recipe.exclude, "progress": progress, "pins": pins[0]}
        return make_packed_environment(spec, destination=output, **options)

    origin = {
        "file": file_digest(file),
        "exclude": recipe.exclude,
        "python": target.python or server_python(),
        "code": environment_code(),
    }
    return locked_entry(store, "environment", origin, [lock], make, progress)


def _unpack_wheels(environment: Environment, plan: BuildPlan, store: Store, progress: Progress) -> Entry:
    """The wheels of an environment file, to lie beside model.py. Triton's stub has the version folder on sys.path, so
    an unchanged model.py imports what is there with Triton's own Python, whose numpy it also takes."""
    file, target = plan.root / environment.file, plan.target
    spec = read_environment_file(file)
    python, glibc = target.python or server_python(), glibc_of(target)
    requirements, constraints = without_numpy(spec.pip_requirements, target)
    if spec.python not in (None, python):
        progress(f"{environment.file}: the wheels are for Python {python}, that of {target.server}, not {spec.python}")
    wheels = Wheels(requirements, python, glibc, (*environment.exclude, *NUMPY), constraints, spec.pip_options)
    lock = Lock(plan, f"{file.stem}-wheels", python, requirements)

    def make(output: Path, pins: list[Pins]) -> dict[str, Any]:
        output.mkdir()
        return wheels.facts(located_wheels([spec], wheels, output, pins[0], progress))

    origin = asdict(wheels) | {"code": environment_code() | {"environments": file_digest(Path(__file__))}}
    return locked_entry(store, "wheels", origin, [lock], make, progress)


def without_numpy(requirements: Iterable[str], target: Target) -> tuple[list[str], list[str]]:
    """The requirements of packages beside model.py, and the constraints that they must meet: their steps get the numpy
    of Triton's own Python, and what is asked of numpy is asked of that."""
    texts = list(requirements)
    numpy = [text for text in texts if canonicalize_name(Requirement(text).name) == "numpy"]
    old = [] if target.release.reads_numpy2 else [_OLD_NUMPY]
    return [text for text in texts if text not in numpy], [*numpy, *old]


def glibc_of(target: Target) -> tuple[int, ...]:
    """The newest glibc that wheels may need."""
    return (target.release.glibc if target.image else None) or glibc_version()


def located_wheels(
    specs: Iterable[EnvironmentSpec], wheels: Wheels, output: Path, pins: Pins, progress: Progress
) -> dict[str, str]:
    """As :func:`install_wheels`; an error names the environment file, and the line that asks for the package."""
    try:
        return install_wheels(wheels, output, pins, progress)
    except EnsembleError as error:
        for spec in specs:
            lines = map(spec.line_of, error.packages if isinstance(error, WheelError) else ())
            if (line := next(filter(None, lines), None)) or not isinstance(error, WheelError):
                raise EnsembleError(error.message, path=error.path or spec.path, line=line, cure=error.cure) from error
        raise


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
        server = f"{target.server} (Ubuntu {target.release.ubuntu}) has {'.'.join(map(str, has))}"
        message = f"the environment that was packed here needs glibc {entry.facts['glibc']}, and {server}"
        cure = "build where a conda channel is reachable, or on a distribution that is not newer than the image's"
        raise EnsembleError(message, path=file, cure=cure)


def steps_that_import(wheels: Path, environment: Environment, plan: BuildPlan, progress: Progress) -> tuple[str, ...]:
    """The steps of the environment that may import something from the folder ``wheels``, with those that have a file
    that cannot be read or that imports by computed names. The others get none."""
    modules = {path.name.partition(".")[0] for path in wheels.iterdir() if not path.name.endswith(".dist-info")}
    steps = []
    for step in environment.steps:
        sources = [path for path in written_paths(plan.folder, step) if path.suffix == ".py"]
        if (modules | _DYNAMIC).intersection(name for path in sources for name in _imported(path)):
            steps.append(step)
    listed = ", ".join(sorted(path.name.removesuffix(".dist-info") for path in wheels.glob("*.dist-info"))) or "nothing"
    models = " and ".join(steps) or "no step"
    progress(f"{environment.file}: {listed} beside model.py of {models}, and Triton's own numpy")
    return tuple(steps)


def _imported(source: Path) -> Iterator[str]:
    """The packages that a file imports, and which of :data:`_DYNAMIC` it uses."""
    try:
        module = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        yield "__import__"
        return
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Name) and node.id in _DYNAMIC:
            yield node.id
