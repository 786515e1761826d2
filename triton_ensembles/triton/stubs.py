"""Backends of a server whose stubs, the processes that run Python models, are of one Python.

    .triton/2.51.0/backends-3.10-0a1b2c3d/python/ libtriton_python.so, its utils and the stub of that Python
                                 onnxruntime …   links to this package's own Python-based backends
    .triton/python-3.10/                          the bare Python of steps without an environment (bare_python.py)

A stub embeds Python with an isolated configuration: it ignores PYTHONPATH and PYTHONHOME, but takes the first
``python3`` on PATH for its own executable and so uses the virtual environment of that ``python3`` (measured on 2.51.0).
For a step with EXECUTION_ENV_PATH, Triton puts the packed environment first.
"""

import filecmp
import os
import shutil
import site
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import digest
from triton_ensembles.ground.paths import BACKENDS
from triton_ensembles.ground.progress import Progress
from triton_ensembles.runtime.backends import ENGINES, PACKAGES
from triton_ensembles.triton.bare_python import bare_python
from triton_ensembles.triton.home import TritonHome, server_python
from triton_ensembles.triton.interpreter import Interpreter, find_interpreter


@dataclass(frozen=True)
class Stubs:
    """The folder for --backend-directory, and variables that tritonserver's environment must have."""

    backend_directory: Path
    environment: Mapping[str, str]


def prepare_stubs(home: TritonHome, python: str = "", progress: Progress = lambda _: None) -> Stubs:
    """Make what is missing for stubs of ``python``, such as "3.10"; "" is the Python that runs this.

    Raises:
        EnsembleError: Triton has no stub for it, it is not on this machine, or numpy cannot be downloaded.
    """
    minor = python or server_python()
    stub = home.stub(minor)
    interpreter = find_interpreter(minor)
    if interpreter is None or interpreter.shared_library is None:
        message = f"there is no Python {minor} with a shared library (libpython{minor}.so.1.0) on this machine"
        raise EnsembleError(message, cure=f"install it: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {minor}")
    bare = bare_python(interpreter, home.folder.parent, progress)
    backends = os.path.relpath(BACKENDS / "served_model", home.folder / "backends")
    # A folder for each installation of this package: several may share the home, and each links to its own backends.
    folder = home.folder / f"backends-{minor}-{digest(backends)[:8]}"
    _copy_backend(home, stub, folder / "python")
    _link_backends(home, folder, backends)
    return Stubs(folder, _environment(home, interpreter, bare))


def _copy_backend(home: TritonHome, stub: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for source in (*(home.python_backend / name for name in home.PYTHON_BACKEND), stub):
        copy = folder / source.name
        if not (copy.is_file() and filecmp.cmp(source, copy, shallow=False)):
            with tempfile.TemporaryDirectory(dir=home.folder) as scratch:  # another server may be starting
                shutil.copy2(source, scratch)
                (Path(scratch) / source.name).replace(copy)


def _link_backends(home: TritonHome, folder: Path, target: str) -> None:
    """Link the package's Python-based backends, which refuse to load under a Python without their packages."""
    for backend in ENGINES:
        link = folder / backend
        if link.is_symlink() and link.readlink() == Path(target):
            continue
        # There is no link, or a wrong one. Replace it in one step: another server may be starting.
        with tempfile.TemporaryDirectory(dir=home.folder) as scratch:
            replacement = Path(scratch) / backend
            replacement.symlink_to(target)
            replacement.replace(link)


def _environment(home: TritonHome, interpreter: Interpreter, bare: Path) -> dict[str, str]:
    assert interpreter.shared_library is not None
    packages = {PACKAGES: os.pathsep.join(site.getsitepackages())} if interpreter.minor == server_python() else {}
    libraries = (home.libraries, interpreter.shared_library.parent)
    return packages | {
        "PATH": os.pathsep.join((os.fspath(bare / "bin"), os.environ.get("PATH", os.defpath))),
        "LD_LIBRARY_PATH": os.pathsep.join(map(os.fspath, libraries)),
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2"),
    }
