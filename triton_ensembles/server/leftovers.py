"""Leftovers of a tritonserver that was killed: shared memory of Python steps, their unpacked environments, sockets."""

import contextlib
import shutil
from pathlib import Path

from triton_ensembles.server.sockets import socket_folders
from triton_ensembles.server.unpacked_environments import UnpackedEnvironments


class Leftovers:
    """The leftovers of all servers that the process ``starter`` has started, or of the one with the port ``port``."""

    def __init__(self, starter: int, port: int | str = "") -> None:
        self.shared_memory = f"triton_ensembles_{starter}_{port}"  # what the names of its regions begin with
        self.folders = f"{self.shared_memory}{'_' if port else ''}"  # and those of folders of sockets
        self.environments = UnpackedEnvironments()

    def find(self, pid: int) -> None:
        """Look for the environments of the server ``pid``, and keep other users from reading its shared memory, which
        Triton opens to all whatever the umask is."""
        self.environments.find(pid)
        for region in Path("/dev/shm").glob(f"{self.shared_memory}*"):
            with contextlib.suppress(OSError):  # it is gone
                region.chmod(0o600)

    def remove(self) -> None:
        for folder in self.environments.folders:
            shutil.rmtree(folder, ignore_errors=True)
        for region in Path("/dev/shm").glob(f"{self.shared_memory}*"):
            region.unlink(missing_ok=True)

    def remove_folders(self) -> None:
        """Remove the folders of sockets, which a process that stops its servers removes itself."""
        for folder in socket_folders(self.folders):
            shutil.rmtree(folder, ignore_errors=True)
