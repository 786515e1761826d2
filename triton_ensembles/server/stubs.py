"""Backends of a server whose stubs, the processes that run Python models, are of one Python.

    .triton/2.51.0/backends-3.10-0a1b2c3d/python/      libtriton_python.so, its utils and the stub of that Python
                                          onnxruntime …  this package's Python-based backends
    .triton/python-3.10/                               the bare Python of steps without an environment (bare_python.py)

A stub embeds Python with an isolated configuration: it ignores PYTHONPATH and PYTHONHOME, but takes the first
``python3`` on PATH for its own executable and so uses the virtual environment of that ``python3`` (measured on 2.51.0).
For a step with EXECUTION_ENV_PATH, Triton puts the packed environment first.

Engines run under the Python that runs this package, which has them, whatever the steps' Python is. Where the two
differ, each of our backends has the Python backend's files beside its model.py, with the stub of the other Python, and
the bare Python of that as the environment that Triton takes for its models (core r24.10 backend_model.cc,
SetPythonBasedBackendExecutionEnvironment; python_backend takes a folder of that name as it is).
"""

import filecmp
import os
import shutil
import site
import tempfile
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import digest
from triton_ensembles.ground.paths import BACKENDS, COMMAND, HOME_VARIABLE, SETUP
from triton_ensembles.ground.progress import Progress
from triton_ensembles.runtime.backends import ENGINES, PACKAGES
from triton_ensembles.server.bare_python import bare_python
from triton_ensembles.server.home import Installation
from triton_ensembles.server.interpreter import Interpreter, find_interpreter
from triton_ensembles.triton.pip_server import STUB, server_python
from triton_ensembles.triton.releases import releases

_ENVIRONMENT = "pb_exec_env_model.py.tar.gz"  # of a Python-based backend; Triton's name, though it is a folder here


def prepare_stubs(
    home: Installation, python: str = "", progress: Progress = lambda _: None
) -> tuple[Path, Mapping[str, str]]:
    """Make what is missing for stubs of ``python``, such as "3.10"; "" is the one that runs this, if it has that.

    A backend that the server has itself is taken from it; the others are this package's. Returns the folder for
    --backend-directory, and variables that tritonserver's environment must have.

    Raises:
        EnsembleError: Triton has no stub for it, it is not on this machine, or numpy cannot be downloaded.
    """
    minor = python or home.python
    stub = home.stub(minor)
    interpreter = require_interpreter(minor)
    bare = bare_python(interpreter, home.folder.parent, progress)
    served = (BACKENDS / "served_model").resolve()
    root = home.folder.resolve()  # links in it are relative, and the home may itself be a link
    # A folder for each installation of this package: several may share the home, and each links to its own backends.
    folder = root / f"backends-{minor}-{digest(os.path.relpath(served, root / 'backends'))[:8]}"
    places = {folder / "python": _python_backend(home, stub)}
    if minor == server_python():
        places[folder] = dict.fromkeys(ENGINES, served) | home.backends
    elif server_python() not in home.stubs:  # so that nothing runs the engines of this package
        places[folder] = home.backends
    else:
        engines = bare_python(require_interpreter(server_python()), home.folder.parent, progress)
        files = _python_backend(home, home.stub(server_python()))
        files |= {"model.py": served / "model.py", _ENVIRONMENT: engines}
        places |= {folder / engine: files for engine in ENGINES if engine not in home.backends}
        places[folder] = home.backends
    for place, files in places.items():
        try:
            _put(place, files)
        except OSError as error:
            message = f"the backends of Python {minor} cannot be put here: {error.strerror}"
            cure = f"set {HOME_VARIABLE} to a folder that can be written, and run: {SETUP}"
            raise EnsembleError(message, path=place, cure=cure) from error
    return folder, _environment(home, interpreter, bare)


def require_interpreter(minor: str) -> Interpreter:
    """The Python ``minor``, such as "3.10", for a stub; "" is the one that runs this. Raises :class:`EnsembleError`: it
    is not on this machine, or has no shared library."""
    minor = minor or server_python()
    interpreter = find_interpreter(minor)
    if interpreter is None or interpreter.shared_library is None:
        message = f"there is no Python {minor} with a shared library (libpython{minor}.so.1.0) on this machine"
        images = [release.release for release in releases().values() if release.python == minor]
        with_uv = f"{COMMAND} setup --image {images[-1]} (with uv), or " if images else ""
        by_hand = f"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {minor}"
        raise EnsembleError(message, cure=f"install it: {with_uv}{by_hand}")
    return interpreter


def _python_backend(home: Installation, stub: Path) -> dict[str, Path]:
    """The files of Triton's Python backend by name."""
    return {name: home.python_backend / name for name in home.PYTHON_BACKEND} | {STUB: stub}


def _put(folder: Path, files: Mapping[str, Path]) -> None:
    """Put these files into ``folder``, each in one step, because another server may be starting.

    Triton refuses links that lead out of a backend's folder, so its own files are copies.
    """
    if folder.is_symlink():  # to this package's own folder: the Python that runs it was this one before
        folder.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in files.items():
        path, ours = folder / name, name not in (*Installation.PYTHON_BACKEND, STUB)
        if path.is_symlink() == ours and path.exists() and (path.samefile(source) or filecmp.cmp(path, source)):
            continue
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            replacement = Path(scratch) / name
            if ours:
                replacement.symlink_to(os.path.relpath(source.resolve(), folder))
            else:
                shutil.copy2(source, replacement)
            replacement.replace(path)


def _environment(home: Installation, interpreter: Interpreter, bare: Path) -> dict[str, str]:
    assert interpreter.shared_library is not None
    libraries = (*home.library_folders, os.fspath(interpreter.shared_library.parent))
    return {
        PACKAGES: os.pathsep.join(site.getsitepackages()),
        "PATH": os.pathsep.join((os.fspath(bare / "bin"), os.environ.get("PATH", os.defpath))),
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2"),
    }
