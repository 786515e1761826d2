"""Memory that is given back: what loading took, and what a large batch left in the engines of a worker that is idle.

A worst request would else decide for good how many ensembles fit: one batch of 64 x 128 tokens leaves 215 MiB.
"""

import contextlib
import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from resource import getpagesize

_IDLE_SECONDS = 1.0
_EVERY_SECONDS = 10.0  # at most: batches that always take as much would pay 50 ms for it each time
_GROWTH = 32 << 20  # bytes; less is what the usual batches take again


class IdleMemory:
    """``shrink`` makes the engines give back what they keep for the next batch."""

    def __init__(self, shrink: Callable[[], None]) -> None:
        self._shrink, self._next = shrink, 0.0
        trim()
        self._usual = anonymous_bytes()

    def wait(self, poll: Callable[[float], bool]) -> None:
        """Wait for a message with ``poll``, or until this process has been idle and has given memory back."""
        if poll(max(_IDLE_SECONDS, self._next - time.monotonic())) or anonymous_bytes() - self._usual < _GROWTH:
            return
        self._shrink()
        trim()
        self._usual, self._next = anonymous_bytes(), time.monotonic() + _EVERY_SECONDS


def trim() -> None:
    """Give the free memory of the C library back to the kernel."""
    with contextlib.suppress(AttributeError):  # another library than glibc
        ctypes.CDLL(None).malloc_trim(0)


def anonymous_bytes() -> int:
    """The anonymous memory of this process, as the kernel counts it (proc(5), statm: resident less shared)."""
    _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
    return (int(resident) - int(shared)) * getpagesize()
