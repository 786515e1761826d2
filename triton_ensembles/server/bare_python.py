"""A Python as bare as that of NVIDIA's image: the standard library and numpy, for steps without an environment.

.triton/python-3.10/pyvenv.cfg      a virtual environment (PEP 405) of a Python that is installed here
                    bin/python3     the link to it that the stub finds on PATH
                    bin/activate    what Triton runs for a model whose environment this is
                    lib/libpython…  the link to its library, which Triton puts on LD_LIBRARY_PATH for such a model
                    lib/…           numpy, unpacked from a wheel
"""

import re
import shutil
import tempfile
import zipfile
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import locked
from triton_ensembles.ground.programs import output_of
from triton_ensembles.ground.progress import Progress
from triton_ensembles.server.interpreter import Interpreter
from triton_ensembles.server.wheels import download_wheels
from triton_ensembles.triton.releases import version

_REQUIREMENTS = Path(__file__).parent / "requirements"
_NEWEST = (3, 12)  # that numpy 1.26 has a wheel for
_ACTIVATE = 'export PATH="${BASH_SOURCE[0]%/*}:$PATH"\n'
NO_BYTECODE = "TRITON_ENSEMBLES_NO_BYTECODE"
"""The variable, "1", with which stubs write no byte code beside model.py. They ignore PYTHONDONTWRITEBYTECODE."""
_STARTUP = f"import os, sys; sys.dont_write_bytecode = os.environ.get('{NO_BYTECODE}') == '1'\n"
_STARTUP_FILE = "triton_ensembles.pth"
_CONFIGURATION = "pyvenv.cfg"
_PLATFORM = ("--implementation=cp", "--platform=manylinux2014_x86_64")


def bare_python(interpreter: Interpreter, root: Path, progress: Progress) -> Path:
    """The virtual environment below ``root``, made when it is missing, or of another interpreter or numpy.

    Raises:
        EnsembleError: numpy cannot be downloaded, or has no wheel for this Python.
    """
    if version(interpreter.minor) > _NEWEST:
        message = f"numpy below 2, which Triton's stub needs, has no wheel for Python {interpreter.minor}"
        raise EnsembleError(message, cure="use Python {}.{} or an older one".format(*_NEWEST))
    folder = root / f"python-{interpreter.minor}"
    if not _is_whole(folder, interpreter):
        with locked(root / ".lock"):
            if not _is_whole(folder, interpreter):
                progress(f"making a Python {interpreter.minor} with numpy alone in {root.name}/{folder.name}/")
                _make(folder, interpreter)
    return folder


def _make(folder: Path, interpreter: Interpreter) -> None:
    requirements = _requirements(interpreter.minor)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        options = (f"--python-version={interpreter.minor}", *_PLATFORM)
        purpose = f"numpy for the bare Python {interpreter.minor} of steps without an environment"
        wheels = download_wheels(requirements, Path(scratch), purpose, *options)
        if folder.exists():
            shutil.rmtree(folder)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python3").symlink_to(interpreter.executable)
        (folder / "bin" / "activate").write_text(_ACTIVATE, encoding="utf-8")
        packages = _packages(folder, interpreter.minor)
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(packages)
        (packages / _STARTUP_FILE).write_text(_STARTUP, encoding="utf-8")
        compiling: list[str | Path] = [interpreter.executable, "-I", "-m", "compileall", "-q"]
        output_of([*compiling, "-x", "/(distutils|tests)/", packages])  # which has byte code of distutils
        if interpreter.shared_library:
            (folder / "lib" / interpreter.shared_library.name).symlink_to(interpreter.shared_library)
        (folder / _CONFIGURATION).write_text(_configuration(interpreter), encoding="utf-8")  # last: it is whole


def _is_whole(folder: Path, interpreter: Interpreter) -> bool:
    """Return whether it was made to the end, of this interpreter and this numpy."""
    try:
        written = (folder / _CONFIGURATION).read_text(encoding="utf-8")
    except OSError:
        return False
    numpy = _packages(folder, interpreter.minor) / f"numpy-{numpy_version(interpreter.minor)}.dist-info"
    return written == _configuration(interpreter) and numpy.is_dir()


def _configuration(interpreter: Interpreter) -> str:
    lines = (f"home = {interpreter.executable.parent}", "include-system-site-packages = false")
    return "\n".join((*lines, f"version = {interpreter.version}", ""))


def _packages(folder: Path, minor: str) -> Path:
    return folder / "lib" / f"python{minor}" / "site-packages"


def _requirements(minor: str) -> Path:
    own = _REQUIREMENTS / f"bare-python-{minor}.txt"
    return own if own.is_file() else _REQUIREMENTS / "bare-python.txt"


def numpy_version(minor: str) -> str:
    path = _requirements(minor)
    pinned = re.search(r"(?m)^numpy==(\S+)", path.read_text(encoding="utf-8"))
    if pinned is None:
        raise EnsembleError("there is no line with numpy==VERSION", path=path, cure="restore the file from git")
    return pinned[1]
