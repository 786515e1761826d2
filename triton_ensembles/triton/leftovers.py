"""Leftovers of a tritonserver that was killed: shared memory of Python steps and their unpacked environments."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from triton_ensembles.triton.unpacked_environments import UnpackedEnvironments


class Leftovers:
    """The leftovers of one server, whose shared memory regions have names that begin with ``shared_memory``."""

    def __init__(self, shared_memory: str) -> None:
        self.shared_memory = shared_memory
        self.environments = UnpackedEnvironments()

    @classmethod
    def of_server(cls, port: int) -> Leftovers:
        """Leftovers of a server that this process starts, which has the port ``port`` for itself."""
        return cls(f"{_starter(os.getpid())}{port}")

    @classmethod
    def of_all(cls, starter: int) -> Leftovers:
        """Leftovers of all servers that the process ``starter`` has started."""
        return cls(_starter(starter))

    def remove(self) -> None:
        for folder in self.environments.folders:
            shutil.rmtree(folder, ignore_errors=True)
        for region in Path("/dev/shm").glob(f"{self.shared_memory}*"):
            region.unlink(missing_ok=True)


def _starter(pid: int) -> str:
    return f"triton_ensembles_{pid}_"
