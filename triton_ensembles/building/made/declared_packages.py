"""The packages that are declared for the Python steps of a repository without a recipe: unpacked once, into the store.

pip finds them with its own configuration and chooses wheels that the server's Python and the C library of its image
can use. Triton's stub has the version folder on sys.path, so the steps import what is linked there.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from triton_ensembles.artifacts.environment.bytecode import compile_with, import_all
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.pip_failures import WheelError
from triton_ensembles.artifacts.environment.smaller import smaller_forms
from triton_ensembles.artifacts.environment.wheels import Wheels, install_wheels
from triton_ensembles.building.made.environments import NUMPY, environment_code, without_numpy
from triton_ensembles.building.made.failed_imports import FAILED
from triton_ensembles.building.made.store import Entry, Store
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import digest, file_digest, size_of
from triton_ensembles.ground.progress import Progress
from triton_ensembles.server.bare_python import bare_python, numpy_version
from triton_ensembles.server.home import Installation
from triton_ensembles.server.stubs import require_interpreter
from triton_ensembles.triton.pip_server import glibc_version
from triton_ensembles.triton.releases import releases
from triton_ensembles.triton.requirements import Declared
from triton_ensembles.triton.targets import Target


def make_declared(declared: Declared, target: Target, home: Installation, store: Store, progress: Progress) -> Entry:
    """The folder of the packages. ``target`` has the Python; ``home`` is the Triton that runs it here.

    Raises:
        EnsembleError: no wheel brings one, two contradict each other or Triton's numpy, or pip cannot reach its index.
    """
    asked, python = declared.asked, target.python or home.python
    requirements, constraints = without_numpy(asked.texts, target)
    others = _other_numpy(declared, python)
    limits = [text for text in (*constraints, *asked.constraints) if text not in others]
    wheels = Wheels(requirements, python, _oldest_glibc(python), NUMPY, limits, asked.options)
    for line in smaller_forms(requirements, asked.options):
        progress(f"{declared.place}: {line}")
    if asked.unread:
        progress(f"{declared.place}: left out, for it cannot be read or names no wheel: {asked.unread}")

    def make(output: Path) -> dict[str, Any]:
        output.mkdir()
        program = bare_python(require_interpreter(python), home.folder.parent, progress) / "bin" / "python3"
        pins = Pins(tuple(asked.pins), source=asked.files[0]) if asked.pins else Pins()
        try:
            packages = install_wheels(wheels, output, pins, progress)
        except WheelError as error:
            raise EnsembleError(f"{declared.place}: {error.message}", cure=error.cure) from error
        except EnsembleError as error:
            cure = f"renew its hashes for Python {python}, or take them out" if asked.pins else error.cure
            raise EnsembleError(f"{declared.place}: {error.message}", cure=cure) from error
        files, failed = import_all(output, modules_in(output), program)
        compile_with([program], output, files)
        return {"packages": packages, "size": size_of(output), FAILED: failed}

    code = environment_code() | {"declared": file_digest(Path(__file__))}
    origin = asdict(wheels) | {"pins": asked.pins, "code": code}
    return store.get_or_make(digest(origin), "declared", make, trusts=True)[0]


def other_numpy(declared: Declared, target: Target, home: Installation) -> Iterator[str]:
    """Yield a sentence about each numpy that is declared and that Triton's own Python, which runs the steps, lacks."""
    python = target.python or home.python
    for text in _other_numpy(declared, python):
        has = numpy_version(python)
        yield f"{declared.place}: {text} is left out, since the steps get numpy {has} of Triton's own Python"


def _other_numpy(declared: Declared, python: str) -> list[str]:
    asked = {text: Requirement(text) for text in (*declared.asked.texts, *declared.asked.constraints)}
    has = numpy_version(python)
    numpy = (text for text, requirement in asked.items() if canonicalize_name(requirement.name) == "numpy")
    return [text for text in numpy if has not in asked[text].specifier]


def modules_in(folder: Path) -> set[str]:
    """The names under which the unpacked packages in ``folder`` are imported."""
    names = [path.name for path in folder.iterdir() if not path.name.endswith((".dist-info", ".libs"))]
    return {name.partition(".")[0] for name in names if name.partition(".")[0].isidentifier()}


def _oldest_glibc(python: str) -> tuple[int, ...]:
    """That of the oldest image with this Python, or this machine's if that is older: the same packages run in all."""
    of_images = [row.glibc for row in releases().values() if row.python == python and row.glibc]
    return min([glibc_version(), *of_images])
