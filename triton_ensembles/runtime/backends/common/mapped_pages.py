"""Memory of files that are mapped, and whose content is not needed twice."""

import ctypes
import os
from pathlib import Path

_DONTNEED = 4  # MADV_DONTNEED of Linux
_LIBC = ctypes.CDLL(None, use_errno=True)


def let_go(file: Path) -> None:
    """Take the pages of a mapped file out of this process: an engine that has packed its weights reads few of them.

    They stay in the kernel's cache, and what is read nevertheless comes from there. Mappings that may be written are
    left alone: they could differ from the file.
    """
    path = os.path.realpath(file)
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        addresses, permissions, *_, mapped = line.split(maxsplit=5)
        if mapped == path and permissions.startswith("r--"):
            start, end = (int(address, 16) for address in addresses.split("-"))
            _LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _DONTNEED)
