"""Which process must end when another one does: server, stub, worker, and processes that steps started."""

import contextlib
import ctypes
import os
import signal
import threading
import time
from collections.abc import Collection
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_SECONDS = 0.5
_ARGUMENTS = slice(45, 47)  # of the fields of /proc/PID/stat after the name: where they begin and end in memory


def adopt_orphans() -> None:
    """From now on this process is the parent of its descendants whose own parent has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_orphans(spared: Collection[int] = ()) -> None:
    """Kill the other children of this process, and the children that it gets by that."""
    while children := set(children_of(os.getpid())).difference(spared):
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def end_with_stub_and_server(stub: int, server: int) -> None:
    """Let this process end when its stub does, and the stub when the server does. The stub looks for the server itself,
    but hangs when the server ended before it answered a metric or a log line (python_backend r24.10, pb_stub.cc:
    SendMessage holds a mutex that TerminateStubToParentQueueMonitor waits for). The kernel's signal would not do for
    it: its parent is a thread of the server, which ends when the model is loaded."""
    if os.getppid() == stub:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_watch, args=(stub, server), daemon=True).start()


def _watch(stub: int, server: int) -> None:
    while _runs(stub) and Path(f"/proc/{server}").exists():
        time.sleep(_LOOK_SECONDS)
    time.sleep(_LOOK_SECONDS)  # a stub that does not hang also cleans up
    with contextlib.suppress(ProcessLookupError):
        os.kill(stub, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def take_name(parent: int, title: str) -> None:
    """Name the process that this one belongs to, which is not the kernel's parent of it: the name is "fused:" and that
    id, and the command line ``title``, as far as there is room for it."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, f"fused:{parent}".encode())
    begin, end = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[_ARGUMENTS])
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, title.encode()[: end - begin - 1], min(len(title.encode()), end - begin - 1))


def children_of(process: int) -> list[int]:
    """The children of all threads of a process."""
    pids: list[int] = []
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has ended
            pids += map(int, children.read_text().split())
    return pids
