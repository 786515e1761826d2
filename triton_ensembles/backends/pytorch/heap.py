"""The memory of one run is kept for the next, on the CPU.

torch takes every result of a layer from malloc and frees it at once. glibc gives what is large back to the system each
time, which then has to clear the pages for the next run: with ResNet-50 and batches of 32 that was a third of all
processor time (610000 page faults a run). Kept, an instance stays as large as its largest batch has made it.
"""

from __future__ import annotations

import contextlib
import ctypes

# malloc.h
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEPT = 1 << 30  # bytes


def keep_freed_memory() -> None:
    """For this process."""
    with contextlib.suppress(AttributeError):  # a C library other than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _KEPT)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
