"""Child processes: those that never outlive us, not even after kill -9, and what /proc knows of them."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)  # looked up here: a forked child should not import anything


def die_with_parent() -> Callable[[], None]:
    """For ``preexec_fn``: the kernel sends SIGTERM to the child when this process dies, however it dies.

    The signal comes when the *thread* that started the child ends, so children are started from lasting threads.
    """
    parent = os.getpid()

    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent died before the line above
            os._exit(1)

    return prepare


def descendants(pid: int) -> list[int]:
    """The process ids of all children of ``pid``, and of theirs; none when it has ended."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    except OSError:
        pass
    return found


def proportional_set_size(pids: Iterable[int]) -> int:
    """Bytes of memory that these processes use together: PSS, in which shared pages count once among their sharers.

    Processes that have ended count nothing.
    """
    kilobytes = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        kilobytes += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return kilobytes * 1024


def command_line(pid: int) -> str:
    """The command line with blanks between its words; "" for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""
