"""Whether another instance of the same model is computing at the moment."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FLOCK = "@hhqqi0q"  # struct flock of Linux: type, whence, start, length, process


def find_siblings(file: Path) -> Siblings | None:
    """The instances that serve the model in ``file``; None where its file system has no locks."""
    found = Siblings(file)
    try:
        with found.computing():
            return found
    except OSError:
        found.close()
        return None


class Siblings:
    """The instances of one model, which are processes, see each other through shared locks on the model's file.

    The kernel releases a lock when its process ends, so that a killed instance leaves nothing behind; and the file need
    not be writable. A lock is taken, checked and released in a few microseconds.
    """

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)

    @contextmanager
    def computing(self) -> Iterator[bool]:
        """Show the others that this instance is computing; yield whether it is the only one at the moment."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_SH)
        try:
            yield self._alone()
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)

    def _alone(self) -> bool:
        """Whether no other process holds a lock that would prevent an exclusive one."""
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        found = struct.unpack(_FLOCK, fcntl.fcntl(self._descriptor, fcntl.F_GETLK, asked))
        return bool(found[0] == fcntl.F_UNLCK)
