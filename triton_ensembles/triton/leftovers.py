"""Leftovers of a tritonserver that was killed: shared memory of Python steps and their unpacked environments."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from triton_ensembles.triton.unpacked_environments import UnpackedEnvironments


class Leftovers:
    """The leftovers of one server, whose shared memory regions have names that begin with ``shared_memory``."""

    def __init__(self, shared_memory: str) -> None:
        self.shared_memory = shared_memory
        self.environments = UnpackedEnvironments()

    @classmethod
    def of(cls, starter: int, port: int | str = "") -> Leftovers:
        """Leftovers of all servers that the process ``starter`` has started, or of the one with the port ``port``."""
        return cls(f"triton_ensembles_{starter}_{port}")

    def find(self, pid: int, *, again: bool = True) -> None:
        """Look for the environments of the server ``pid``, and keep other users from reading its shared memory, which
        Triton opens to all whatever the umask is."""
        self.environments.find(pid, again=again)
        for region in Path("/dev/shm").glob(f"{self.shared_memory}*"):
            with contextlib.suppress(OSError):  # it is gone
                region.chmod(0o600)

    def remove(self) -> None:
        for folder in self.environments.folders:
            shutil.rmtree(folder, ignore_errors=True)
        for region in Path("/dev/shm").glob(f"{self.shared_memory}*"):
            region.unlink(missing_ok=True)
