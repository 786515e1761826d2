"""The CPythons installed on this machine, and what must be known of one to make a prefix from its files."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.programs import ProgramError, output_of
from triton_ensembles.ground.progress import Progress

_DESCRIBE = """
import json, os, site, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3],
    "implementation": sys.implementation.name,
    "gil": bool(sysconfig.get_config_var("Py_GIL_DISABLED")) is False,
    "executable": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "base_prefix": sys.base_prefix,
    "stdlib": paths["stdlib"],
    "platstdlib": sysconfig.get_path("platstdlib", vars={"platbase": sys.base_exec_prefix}),
    "libdir": sysconfig.get_config_var("LIBDIR"),
    "dist_packages": any(path.endswith("dist-packages") for path in site.getsitepackages()),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A CPython. Its paths are the real ones, even if it was found through a virtual environment."""

    version: str  # "3.11.9"
    executable: Path
    base_prefix: Path
    stdlib: Path
    dynload: Path  # the folder of the standard library's extension modules
    library_folders: tuple[Path, ...]  # where its libpython may lie
    looks_in_dist_packages: bool  # true for Debian's Pythons, which import packages from there, not from site-packages

    @property
    def minor(self) -> str:
        """``"3.11"``."""
        return ".".join(self.version.split(".")[:2])

    @property
    def shared_library(self) -> Path | None:
        """``libpython3.X.so.1.0``, which Triton's stub loads; None if this Python was built without it."""
        name = f"libpython{self.minor}.so.1.0"
        return next((folder / name for folder in self.library_folders if (folder / name).is_file()), None)


@cache
def inspect_interpreter(executable: str | Path) -> Interpreter | None:
    """The interpreter behind ``executable`` (a venv's, a shim, a link), or None if that is not a usable CPython."""
    try:
        facts = json.loads(output_of([executable, "-I", "-c", _DESCRIBE]))
    except (ProgramError, ValueError):
        return None
    if facts["implementation"] != "cpython" or not facts["gil"]:
        return None
    base = Path(facts["base_prefix"])
    folders = [Path(facts["libdir"])] if facts["libdir"] else []
    # A relocated Python (python-build-standalone, conda) has its library below its prefix, whatever LIBDIR says;
    # a distribution's Python has it in the multiarch folder, sometimes from a package of its own.
    folders += [base / "lib", base / "lib64", Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64")]
    return Interpreter(
        version=facts["version"],
        executable=Path(facts["executable"]),
        base_prefix=base,
        stdlib=Path(facts["stdlib"]),
        dynload=Path(facts["platstdlib"]) / "lib-dynload",
        library_folders=tuple(folders if base == Path("/usr") else folders[:3]),
        looks_in_dist_packages=facts["dist_packages"],
    )


def find_interpreter(minor: str) -> Interpreter | None:
    """The running interpreter if its minor version is ``minor``; otherwise another one of that version: on PATH, of
    pyenv or of uv. None if there is none with a shared library."""
    running = [Path(sys.executable)] if minor == "{}.{}".format(*sys.version_info) else []
    for interpreter in map(inspect_interpreter, chain(running, _others(minor))):
        if interpreter and interpreter.minor == minor and interpreter.shared_library:
            return interpreter
    return None


def running_interpreter() -> Interpreter:
    """The Python that runs this. Raises :class:`EnsembleError`: it is none that Triton's stub can load."""
    running = inspect_interpreter(sys.executable)
    if running is None:
        cure = "use Python 3.11 or 3.12"
        raise EnsembleError("this is not a CPython with a GIL, and Triton's stub needs one", cure=cure)
    if running.shared_library is None:
        raise EnsembleError(
            f"{running.executable} was built without libpython{running.minor}.so.1.0, which Triton's stub loads",
            cure=f"install the package libpython{running.minor} of your distribution, or a Python built "
            "with --enable-shared (pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared)",
        )
    return running


def choose_interpreter(minor: str | None, *, exactly: bool = False) -> tuple[Interpreter, str]:
    """The interpreter to build with, and a warning for the user if its version is not ``minor`` (otherwise ``""``).

    As :func:`find_interpreter` (None is the running version); otherwise, unless ``exactly`` that version is required,
    the running one after all, so that a newcomer with another Python still gets an environment.

    Raises:
        EnsembleError: there is none of that version, or none that was built with a shared library.
    """
    minor = minor or "{}.{}".format(*sys.version_info)
    if interpreter := find_interpreter(minor):
        return interpreter, ""
    if exactly:
        raise EnsembleError(
            f"there is no Python {minor} with a shared library here, and no conda channel that has one",
            cure=f"install it (PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {minor}), or make a conda channel "
            "reachable",
        )
    running = running_interpreter()
    return running, (
        f"WARNING: there is no Python {minor} with a shared library here; "
        f"the environment gets the running Python {running.version} instead"
    )


def _others(minor: str) -> Iterator[Path]:
    """Executables that may be a Python ``minor``: every one on PATH, then pyenv's (its shims obey a local version), and
    uv's (docs.astral.sh/uv, "Storage")."""
    for folder in os.get_exec_path():
        if path := shutil.which(f"python{minor}", path=folder):
            yield Path(path)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for version in sorted((pyenv / "versions").glob(f"{minor}.*"), reverse=True):
        yield version / "bin" / f"python{minor}"
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    for version in sorted(uv.glob(f"cpython-{minor}.*"), reverse=True):
        yield version / "bin" / f"python{minor}"


def install_interpreter(minor: str, progress: Progress) -> None:
    """Install a Python ``minor`` with uv, unless there is one.

    Raises:
        EnsembleError: there is no uv, or it cannot download it.
    """
    if find_interpreter(minor):
        return
    by_hand = f"install it with its shared library (pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {minor})"
    uv = [executable] if (executable := shutil.which("uv")) else [sys.executable, "-m", "uv"]
    progress(f"installing Python {minor} with uv")
    try:
        output_of([*uv, "python", "install", minor])
    except ProgramError as error:
        message = f"uv cannot install Python {minor}: {error.last_line}"
        raise EnsembleError(message, cure=f"run: pip install uv, and try again; or {by_hand}") from error
    inspect_interpreter.cache_clear()
    if find_interpreter(minor) is None:
        raise EnsembleError(f"uv has installed a Python {minor} without a shared library", cure=by_hand)
