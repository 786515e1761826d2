"""The folder with tritonserver and perf_analyzer, the binaries of two wheels. It lies in .triton/ of a checkout, or in
the user's cache folder (``paths.user_folder``).

    .triton/2.51.0/pytriton/tritonserver/bin/tritonserver      from nvidia-pytriton, laid out as in its wheel (RPATHs)
                   pytriton/tritonserver/backends/python/      libtriton_python.so and its utils
                   pytriton/tritonserver/python_backend_stubs/ the stubs, by Python minor version
                   nvidia_pytriton.libs/                       the libraries that those link to
                   bin/perf_analyzer                           from tritonclient
                   perf_libs/                                  the two libraries that it links to
                   installed.json                              the digest of each file above
                   backends-3.11-…/                            the folder for --backend-directory (stubs.py)

The wheels' Python requirements are not installed: they pin packages that the server does not need.
"""

import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest, files_in, locked, remove
from triton_ensembles.ground.paths import HOME_VARIABLE, SETUP, user_folder
from triton_ensembles.server.machine import check_machine
from triton_ensembles.server.sagemaker_socket import put_sagemaker_on_socket
from triton_ensembles.server.wheels import download_wheels
from triton_ensembles.triton.pip_server import STUB, VERSION, server_python
from triton_ensembles.triton.releases import version

_FILES = "installed.json"
LIBRARIES = "nvidia_pytriton.libs"
WHEELS = Path(__file__).parent / "requirements" / "triton.txt"

# The libraries that perf_analyzer links to, and their hashed names in the server's wheel.
PERF_LIBRARIES = {"libb64.so.0d": "libb64-*.so.0d", "libcudart.so.12": "libcudart-*.so.12*"}


class Installation:
    """A Triton that is installed here in ``server``, the folder with bin/, backends/ and lib/, as /opt/tritonserver of
    NVIDIA's image. ``folder``: of what is made for it, such as the folder for --backend-directory."""

    PYTHON_BACKEND: ClassVar = ("libtriton_python.so", "triton_python_backend_utils.py")
    """The files of the Python backend that are the same for every stub."""

    def __init__(self, server: Path, folder: Path, version: str) -> None:
        self.server = server
        self.folder = folder
        self.version = version
        self.tritonserver = server / "bin" / "tritonserver"
        self.python_backend = server / "backends" / "python"

    @property
    def library_folders(self) -> list[str]:
        """Return those of its shared libraries: where auditwheel has put the wheel's, or else lib/, and CUDA's, which
        an image names in LD_LIBRARY_PATH."""
        if (wheel := self.server.parent.parent / LIBRARIES).is_dir():
            return [os.fspath(wheel)]
        return [os.fspath(self.server / "lib"), *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))]

    @property
    def backends(self) -> dict[str, Path]:
        """The folders of the backends that it has beside the Python backend, by name."""
        folders = (path for path in sorted((self.server / "backends").iterdir()) if path.is_dir())
        return {path.name: path for path in folders if path != self.python_backend}

    @property
    def stubs(self) -> dict[str, Path]:
        """Return its stubs by Python minor version: the wheel has several, an image one, which says what it is linked
        to."""
        stubs = {path.parent.name: path for path in self.server.glob(f"python_backend_stubs/*/{STUB}")}
        own = self.python_backend / STUB
        if not stubs and own.is_file() and (linked := re.search(rb"libpython(3\.\d+)\.so", own.read_bytes())):
            stubs[linked[1].decode()] = own
        return stubs

    @property
    def python(self) -> str:
        """The Python of its stubs unless another is chosen: the running one, or else the newest that it has."""
        return server_python() if server_python() in self.stubs else max(self.stubs, key=version, default="")

    def stub(self, python: str) -> Path:
        """The Triton stub for a Python minor version such as "3.10"."""
        if python not in self.stubs:
            have = ", ".join(sorted(self.stubs))
            raise EnsembleError(f"Triton {self.version} has no stub for Python {python}", cure=f"use one of {have}")
        return self.stubs[python]


class TritonHome(Installation):
    """The Triton that ``setup`` installs; its ``folder`` is ``.triton/2.51.0``, where perf_analyzer is as well."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "pytriton" / "tritonserver", folder, VERSION)
        self.libraries = folder / LIBRARIES
        self.perf_analyzer = folder / "bin" / "perf_analyzer"
        self.perf_libraries = folder / "perf_libs"


def find_home(root: Path | None = None) -> TritonHome:
    """The installed home in ``root``, by default in the user's folder. Raises EnsembleError for a missing binary."""
    home = TritonHome((root or user_folder()) / VERSION)
    backend = (home.python_backend / name for name in home.PYTHON_BACKEND)
    for binary in (home.tritonserver, home.perf_analyzer, *backend):
        if not binary.is_file():
            raise EnsembleError("this binary of Triton is missing", path=binary, cure=f"run: {SETUP}")
    return home


def install_home(root: Path | None = None, progress: Callable[[str], None] = print) -> TritonHome:
    """Download the two wheels (sha256 in requirements/triton.txt) and unpack their binaries, unless that is done.

    A home in which a file is missing, or is not as it was unpacked, is made again.
    """
    check_machine()
    root = root or user_folder()
    if _is_whole(root / VERSION):  # which another user may have made, for all
        return find_home(root)
    try:
        root.mkdir(parents=True, exist_ok=True)
        (root / ".lock").touch()
    except OSError as error:
        message = f"tritonserver cannot be installed here: {error.strerror}"
        cure = f"set {HOME_VARIABLE} to a folder that can be written, and run it again"
        raise EnsembleError(message, path=root, cure=cure) from error
    with locked(root / ".lock"):
        target = root / VERSION
        if _is_whole(target):
            return find_home(root)
        if target.exists():
            progress(f"{root.name}/{VERSION} is damaged, so it is made again")
        progress(f"installing tritonserver {VERSION} and perf_analyzer into {root.name}/ (from two wheels, 70 MB)")
        with tempfile.TemporaryDirectory(dir=root) as scratch:
            wheels = Path(scratch) / "wheels"
            download_wheels(WHEELS, wheels, "the wheels of tritonserver")
            home = TritonHome(Path(scratch) / VERSION)
            _unpack(wheels, home)
            digests = {name: file_digest(path) for name, path in files_in(home.folder).items()}
            (home.folder / _FILES).write_text(json.dumps(digests, indent=2))
            remove(target)
            home.folder.replace(target)
    return find_home(root)


def _is_whole(folder: Path) -> bool:
    """Return whether it has every file as it was unpacked. Others may have been added: the folders of stubs.py."""
    try:
        unpacked = json.loads((folder / _FILES).read_text())
        return all(file_digest(folder / name) == digest for name, digest in unpacked.items())
    except (OSError, ValueError, AttributeError):
        return False


def _unpack(wheels: Path, home: TritonHome) -> None:
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                name = member.filename
                if name.startswith(("pytriton/tritonserver/", f"{LIBRARIES}/")):
                    archive.extract(member, home.folder)
                elif name.endswith(".data/data/bin/perf_analyzer"):
                    home.perf_analyzer.parent.mkdir(parents=True, exist_ok=True)
                    home.perf_analyzer.write_bytes(archive.read(member))
    for binary in (home.tritonserver, home.perf_analyzer, *home.folder.glob("pytriton/tritonserver/*/*/*stub")):
        binary.chmod(0o755)
    put_sagemaker_on_socket(home.tritonserver)
    home.perf_libraries.mkdir()
    for name, pattern in PERF_LIBRARIES.items():
        (library,) = home.libraries.glob(pattern)
        (home.perf_libraries / name).symlink_to(os.path.relpath(library, home.perf_libraries))
