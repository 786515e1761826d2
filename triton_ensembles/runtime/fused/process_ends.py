"""Which process must end when another one does: server, stub, worker, and processes that steps started."""

import contextlib
import ctypes
import os
import signal
import threading
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_SECONDS = 0.5


def adopt_orphans() -> None:
    """From now on this process is the parent of its descendants whose own parent has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_orphans() -> None:
    """Kill all children of this process, and the children that it gets by that."""
    while children := children_of(os.getpid()):
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def end_with_stub_and_server(server: int) -> None:
    """Let this process end when the stub, its parent, does, and the stub when the server does. The stub looks for the
    server itself, but hangs when the server ended before it answered a metric or a log line (python_backend r24.10,
    pb_stub.cc: SendMessage holds a mutex that TerminateStubToParentQueueMonitor waits for). The kernel's signal would
    not do for it: its parent is a thread of the server, which ends when the model is loaded."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_watch, args=(server,), daemon=True).start()


def _watch(server: int) -> None:
    while Path(f"/proc/{server}").exists():
        time.sleep(_LOOK_SECONDS)
    time.sleep(_LOOK_SECONDS)  # a stub that does not hang also cleans up
    os.kill(os.getppid(), signal.SIGKILL)


def children_of(process: int) -> list[int]:
    """The children of all threads of a process."""
    pids: list[int] = []
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has ended
            pids += map(int, children.read_text().split())
    return pids
