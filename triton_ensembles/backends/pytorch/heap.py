"""Keeps the memory of one run for the next, on the CPU.

torch allocates each layer's result with malloc and frees it soon. glibc returns large blocks to the system every time,
which must then clear the pages for the next run: with ResNet-50 and batches of 32 that took a third of all processor
time (610000 page faults a run). With the memory kept, an instance stays as large as its largest batch has made it.
"""

from __future__ import annotations

import contextlib
import ctypes

# malloc.h
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEPT = 1 << 30  # bytes


def keep_freed_memory() -> None:
    """Make glibc keep freed memory of this process, up to 1 GiB."""
    with contextlib.suppress(AttributeError):  # a C library other than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _KEPT)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
