"""Leftovers of a tritonserver that was killed: its processes, shared memory, unpacked environments and sockets."""

import contextlib
import os
import re
import shutil
import signal
from pathlib import Path

from triton_ensembles.ground import processes
from triton_ensembles.server.sockets import socket_folders

# A variable that every process of a server inherits, also one in a session of its own; its value is unique.
MARK = "TRITON_ENSEMBLES_SERVER"
_ROUNDS = 5  # of ending such processes, which may start others meanwhile
_KILL_SECONDS = 5.0  # that the kernel may take to end one
_TEMPORARY = Path("/tmp")
_PATTERN = "python_env_??????"
_NAME = re.compile(rb"/tmp/(python_env_[0-9A-Za-z]{6})(?![0-9A-Za-z])")


def end_marked(mark: str) -> None:
    """End what is left of the processes of the server with this mark."""
    for _ in range(_ROUNDS):
        leftover = [pid for pid in processes.with_variable(MARK, mark) if pid != os.getpid()]
        if not leftover:
            return
        started = [pid for pid_left in leftover for pid in processes.descendants(pid_left)]
        with processes.handles([*leftover, *started]) as members:
            processes.send(members, signal.SIGKILL)
            processes.wait_for_handles(members, _KILL_SECONDS)
        for pid in leftover:
            processes.reap(pid, os.WNOHANG)


class UnpackedEnvironments:
    """The folders /tmp/python_env_XXXXXX of one tritonserver, into which it unpacks packed environments (pb_env.cc), as
    far as they were found. They are still known when the server has been killed.

    Each Python backend makes one when it is loaded, heeds no TMPDIR, and deletes it only when the server exits. The
    steps that run in one tell whose it is: its lib/ is on their LD_LIBRARY_PATH.
    """

    def __init__(self) -> None:
        self.folders: frozenset[Path] = frozenset()  # threads may go through it while another one looks for more

    def find(self, pid: int) -> None:
        """Look for the folders of the server ``pid`` in which steps run that have been made since the last call."""
        made = set(_TEMPORARY.glob(_PATTERN)) - self.folders
        for child in processes.descendants(pid) if made else ():
            with contextlib.suppress(OSError):  # it has ended
                named = _NAME.findall(Path(f"/proc/{child}/environ").read_bytes())
                self.folders |= made & {_TEMPORARY / os.fsdecode(name) for name in named}


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
