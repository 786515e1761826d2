"""``--server``: any Triton that is installed here, such as /opt/tritonserver in NVIDIA's image, and how far it is ours.

What is made for it lies in the user's folder, because its own may be read-only: .triton/server-0a1b2c3d/.
"""

import os
import re
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import digest
from triton_ensembles.ground.paths import user_folder
from triton_ensembles.ground.programs import ProgramError, output_of
from triton_ensembles.server.home import Installation
from triton_ensembles.triton.pip_server import VERSION
from triton_ensembles.triton.releases import releases

_CURE = "name the folder of an installed Triton, such as /opt/tritonserver in NVIDIA's image"


def server_at(folder: Path) -> Installation:
    """The Triton in ``folder``: /opt/tritonserver, the same folder of nvidia-pytriton's wheel, or what holds that.

    Its version is what it says when it is told to serve a folder that does not exist. Raises :class:`EnsembleError`:
    there is no server in it, or one without a Python backend, or that does not start.
    """
    wheel = folder / "pytriton" / "tritonserver"
    server = (wheel if wheel.is_dir() else folder).resolve()
    own = Installation(server, user_folder() / f"server-{digest(os.fspath(server))[:8]}", "")
    if not own.tritonserver.is_file():
        raise EnsembleError("there is no bin/tritonserver in this folder", path=folder, cure=_CURE)
    missing = [name for name in own.PYTHON_BACKEND if not (own.python_backend / name).is_file()]
    if missing or not own.stubs:
        lacks = f"backends/python/{missing[0]}" if missing else "triton_python_backend_stub, linked to a libpython,"
        raise EnsembleError(f"this Triton has no Python backend: {lacks} is missing", path=folder, cure=_CURE)
    return Installation(server, own.folder, _version(own))


def image_of_server(server: Installation | None) -> str:
    """The release whose image it is of, such as "26.05"; "" for the wheel's server, None, and unknown versions."""
    if server is None or (server.version == VERSION and len(server.stubs) > 1):
        return ""
    return next((row.release for row in releases().values() if row.triton == server.version), "")


def _version(server: Installation) -> str:
    flags = (f"--model-repository={server.tritonserver}/none", "--allow-http=0", "--allow-grpc=0", "--allow-metrics=0")
    libraries = os.pathsep.join(server.library_folders)
    try:
        words = output_of([server.tritonserver, *flags], environment={**os.environ, "LD_LIBRARY_PATH": libraries})
    except ProgramError as error:  # as it should, because there is no such repository
        words = error.output
    said = re.search(r"server_version\s*\|\s*(\d+\.\d+\.\d+)", words)
    if said is None:
        last = words.strip().rpartition("\n")[2] or "it says no version"
        raise EnsembleError(f"this tritonserver does not start: {last}", path=server.tritonserver, cure=_CURE)
    return said[1]
