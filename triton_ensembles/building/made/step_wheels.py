"""Wheels beside model.py: ``kind = "wheels"`` of a recipe's environment.

Triton's stub has the version folder on sys.path, so an unchanged model.py imports what lies there with Triton's own
Python. numpy is that Python's, which has it in every image: the backend cannot do without.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from triton_ensembles.artifacts.environment import read_environment_file
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.wheels import WheelError, glibc_of_this_machine, install_wheels
from triton_ensembles.building.made.lock import Lock, locked_entry
from triton_ensembles.building.made.store import Entry, Store
from triton_ensembles.building.planned.plan import BuildPlan, written_paths
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.schema import Environment
from triton_ensembles.triton.home import server_python

_NUMPY = ("*/site-packages/numpy/*", "*/site-packages/numpy-*", "*/site-packages/numpy.libs/*")
# What imports a module whose name the code computes.
_DYNAMIC = frozenset(("__import__", "exec", "eval", "importlib", "imp", "pkgutil", "runpy"))


def make_wheels(
    environment: Environment, plan: BuildPlan, store: Store, code: Mapping[str, str], progress: Progress
) -> Entry:
    """The wheels of an environment file in a folder of ``store``, for the Python of the target's server. ``code``: the
    digests of the code that makes them. Raises :class:`EnsembleError`: no wheel brings a package; it names the line of
    the environment file."""
    file, target = plan.root / environment.file, plan.target
    spec = read_environment_file(file)
    python = target.python or server_python()
    glibc = (target.release.glibc if target.image else None) or glibc_of_this_machine()
    requirements = [
        requirement
        for requirement in spec.pip_requirements
        if canonicalize_name(Requirement(requirement).name) != "numpy"
    ]
    if spec.python not in (None, python):
        progress(f"{environment.file}: the wheels are for Python {python}, that of {target.server}, not {spec.python}")

    lock = Lock(plan.folder, f"{file.stem}-wheels", python, requirements, frozen=plan.locked)

    def make(output: Path, pins: list[Pins]) -> dict[str, Any]:
        output.mkdir()
        exclude = (*environment.exclude, *_NUMPY)
        try:
            packages = install_wheels(
                requirements, output, python=python, glibc=glibc, exclude=exclude, pins=pins[0], progress=progress
            )
        except WheelError as error:
            line = next(filter(None, map(spec.line_of, error.packages)), None)
            raise EnsembleError(error.message, path=file, line=line, cure=error.cure) from error
        return {"python": python, "provider": "pip", "glibc": ".".join(map(str, glibc)), "packages": packages}

    origin = {
        "kind": "wheels",
        "requirements": requirements,
        "exclude": environment.exclude,
        "python": python,
        "glibc": glibc,
        "code": {**code, "step_wheels": file_digest(Path(__file__))},
    }
    return locked_entry(store, "wheels", origin, [lock], make, progress)


def steps_that_import(wheels: Path, environment: Environment, plan: BuildPlan, progress: Progress) -> tuple[str, ...]:
    """The steps of the environment that may import something from the folder ``wheels``.

    The others get none. A step with a file that cannot be read or that imports by computed names gets all.
    """
    modules = {path.name.partition(".")[0] for path in wheels.iterdir() if not path.name.endswith(".dist-info")}
    steps = []
    for step in environment.steps:
        sources = [path for path in written_paths(plan.folder, step) if path.suffix == ".py"]
        imported = {name for path in sources for name in _imported(path)}
        if imported & (modules | _DYNAMIC):
            steps.append(step)
    listed = ", ".join(sorted(path.name.removesuffix(".dist-info") for path in wheels.glob("*.dist-info"))) or "nothing"
    progress(
        f"{environment.file}: {listed} beside model.py of {' and '.join(steps) or 'no step'}, and Triton's own numpy"
    )
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
