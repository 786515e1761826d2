"""How many threads the engine of a model instance uses: its share of the cores, or all while no other one computes.

Instances that share the cores do not wait for each other's, and one computes while another sends its answers. But a
single request would get only one share. An engine's number of threads cannot change, so each instance has two engines.
"""

import fcntl
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Generic, TypeVar

from triton_ensembles.runtime.backends.common.model_instance import ModelInstance

E = TypeVar("E")
_FLOCK = "@hhqqi0q"  # struct flock of Linux: type, whence, start, length, process


class InstanceEngine(Generic[E]):
    """The engines of one instance: one with its share of the cores and, where the share is smaller, one with all cores.
    The config's ``parameter`` fixes the number of threads; without it, or with 0, this class decides."""

    def __init__(self, model: ModelInstance, make: Callable[[int], E], parameter: str) -> None:
        cores = len(os.sched_getaffinity(0))  # fewer than the machine's under taskset or in a container
        fixed = model.integer(parameter, 0)
        share = fixed or max(1, cores // model.instances)
        self._engine = make(share)
        self._file = model.file.open("rb", buffering=0)
        can_widen = not fixed and model.gpu is None and share < cores and _has_locks(self._file)
        self._alone = make(cores) if can_widen else None

    @contextmanager
    def engine(self, requests: int) -> Iterator[E]:
        """The engine for a batch of ``requests`` requests, which begins now and ends with the context."""
        if self._alone is None:
            yield self._engine
            return
        with computing(self._file) as alone:
            # Several requests at once mean that there is a queue, and other instances will soon take from it.
            yield self._alone if alone and requests == 1 else self._engine

    @property
    def engines(self) -> tuple[E, ...]:
        """All, for whoever knows that no batch is under way."""
        return (self._engine,) if self._alone is None else (self._engine, self._alone)

    def close(self) -> None:
        del self._engine, self._alone
        self._file.close()


@contextmanager
def computing(file: IO[Any]) -> Iterator[bool]:
    """Show the other instances of the model in ``file``, which are processes, that this one is computing; yield whether
    it is the only one at the moment. They see a shared lock, which takes a few microseconds. The kernel releases it
    when its process ends, so that a killed instance leaves nothing behind; and the file need not be writable."""
    fcntl.lockf(file, fcntl.LOCK_SH)
    try:
        yield foreign_lock(file) is None
    finally:
        fcntl.lockf(file, fcntl.LOCK_UN)


def foreign_lock(file: IO[Any]) -> int | None:
    """The offset of a lock that another process has in ``file``, and that would prevent an exclusive one; else None."""
    query = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    lock = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, query))
    return None if lock[0] == fcntl.F_UNLCK else lock[2]


def _has_locks(file: IO[Any]) -> bool:
    """Return whether the file system of ``file`` has locks."""
    try:
        with computing(file):
            return True
    except OSError:
        return False
