"""The folder with tritonserver and perf_analyzer, the binaries of two wheels.

    .triton/2.51.0/pytriton/tritonserver/bin/tritonserver      from nvidia-pytriton, laid out as in its wheel (RPATHs)
                   pytriton/tritonserver/backends/python/      libtriton_python.so, utils and the stub of this Python
                   nvidia_pytriton.libs/                       the libraries that those link to
                   bin/perf_analyzer                           from tritonclient
                   perf_libs/                                  the two libraries that it links to
                   backends/                                   the folder for --backend-directory

The wheels' Python requirements are not installed: they pin packages that the server does not need.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from triton_ensembles.backends import ENGINES
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import BACKENDS, ROOT, TRITON_HOME
from triton_ensembles.triton.loopback import bind_sagemaker_to_loopback
from triton_ensembles.triton.machine import check_machine, libpython

VERSION = "2.51.0"
STUB = "triton_python_backend_stub"  # the process that runs a Python model; one in the model's folder is preferred
WHEELS = ROOT / "requirements" / "triton.txt"

# The libraries that perf_analyzer links to, and their hashed names in the server's wheel.
PERF_LIBRARIES = {"libb64.so.0d": "libb64-*.so.0d", "libcudart.so.12": "libcudart-*.so.12*"}


@dataclass(frozen=True)
class TritonHome:
    """The paths of an installed home, whose ``folder`` is ``.triton/2.51.0``."""

    folder: Path

    @property
    def tritonserver(self) -> Path:
        return self._wheel / "bin" / "tritonserver"

    @property
    def perf_analyzer(self) -> Path:
        return self.folder / "bin" / "perf_analyzer"

    @property
    def backend_directory(self) -> Path:
        return self.folder / "backends"

    @property
    def libraries(self) -> Path:
        return self.folder / "nvidia_pytriton.libs"

    @property
    def perf_libraries(self) -> Path:
        return self.folder / "perf_libs"

    def stub(self, python: str) -> Path:
        """The Triton stub for a Python minor version such as "3.10"."""
        path = self._wheel / "python_backend_stubs" / python / STUB
        if not path.is_file():
            have = ", ".join(sorted(folder.name for folder in path.parents[1].iterdir()))
            raise EnsembleError(f"Triton {VERSION} has no stub for Python {python}", cure=f"use one of {have}")
        return path

    @property
    def _wheel(self) -> Path:
        return self.folder / "pytriton" / "tritonserver"


def find_home(root: Path = TRITON_HOME) -> TritonHome:
    """The installed home. Raises :class:`EnsembleError` if there is none, or if a binary is missing."""
    home = TritonHome(root / VERSION)
    for binary in (home.tritonserver, home.perf_analyzer, home.backend_directory / "python" / "libtriton_python.so"):
        if not binary.is_file():
            raise EnsembleError("this binary of Triton is missing", path=binary, cure="run: make setup")
    return home


def install_home(root: Path = TRITON_HOME, progress: Callable[[str], None] = print) -> TritonHome:
    """Download the two wheels (sha256 in requirements/triton.txt) and unpack their binaries, unless that is done."""
    check_machine()
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / ".lock"):
        try:
            return find_home(root)
        except EnsembleError:
            progress(f"installing tritonserver {VERSION} and perf_analyzer into {root.name}/ (from two wheels, 70 MB)")
        with tempfile.TemporaryDirectory(dir=root) as scratch:
            wheels = Path(scratch) / "wheels"
            _download(wheels)
            made = TritonHome(Path(scratch) / VERSION)
            _unpack(wheels, made)
            target = root / VERSION
            if target.exists():
                shutil.rmtree(target)
            made.folder.replace(target)
    return find_home(root)


def _download(destination: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--disable-pip-version-check", "-r", os.fspath(WHEELS), "-d", os.fspath(destination)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if line.startswith("ERROR")), done.stderr.strip())
        raise EnsembleError(f"the wheels of tritonserver could not be downloaded: {reason}", path=WHEELS)


def _unpack(wheels: Path, home: TritonHome) -> None:
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                name = member.filename
                if name.startswith(("pytriton/tritonserver/", "nvidia_pytriton.libs/")):
                    archive.extract(member, home.folder)
                elif name.endswith(".data/data/bin/perf_analyzer"):
                    home.perf_analyzer.parent.mkdir(parents=True, exist_ok=True)
                    home.perf_analyzer.write_bytes(archive.read(member))
    for binary in (home.tritonserver, home.perf_analyzer, *home.folder.glob("pytriton/tritonserver/*/*/*stub")):
        binary.chmod(0o755)
    bind_sagemaker_to_loopback(home.tritonserver)
    home.perf_libraries.mkdir()
    for wanted, pattern in PERF_LIBRARIES.items():
        (found,) = home.libraries.glob(pattern)
        (home.perf_libraries / wanted).symlink_to(os.path.relpath(found, home.perf_libraries))
    python = home.backend_directory / "python"
    shutil.copytree(home.folder / "pytriton" / "tritonserver" / "backends" / "python", python)
    shutil.copy2(home.stub(server_python()), python)


def server_python() -> str:
    """The Python minor version of the installed stub: that of the running interpreter, such as "3.11"."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def link_backends(home: TritonHome) -> None:
    """Link the project's Python-based backends into the folder for --backend-directory, beside the python backend."""
    target = os.path.relpath(BACKENDS / "served_model", home.backend_directory)
    for backend in ENGINES:
        link = home.backend_directory / backend
        if link.is_symlink() and link.readlink() == Path(target):
            continue
        # There is no link, or that of an older checkout. Replace it in one step: another server may be starting.
        with tempfile.TemporaryDirectory(dir=home.folder) as scratch:
            made = Path(scratch) / backend
            made.symlink_to(target)
            made.replace(link)


def server_environment(home: TritonHome) -> dict[str, str]:
    """The environment variables for tritonserver.

    The stub of a Python-based backend embeds Python with an isolated configuration: it ignores PYTHONPATH and
    PYTHONHOME, but takes the first ``python3`` on PATH for its own executable and so uses the virtual environment of
    that ``python3`` (measured on 2.51.0). For a step with EXECUTION_ENV_PATH, Triton puts the packed environment first.
    """
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    libraries = [os.fspath(home.libraries), os.fspath(libpython().parent)]
    # In a venv sys.executable is not resolved, so this is the folder that holds the venv's python3.
    path = [os.fspath(Path(sys.executable).parent), inherited.get("PATH", os.defpath)]
    return inherited | {
        "PATH": os.pathsep.join(path),
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
        "TF_CPP_MIN_LOG_LEVEL": inherited.get("TF_CPP_MIN_LOG_LEVEL", "2"),
    }
