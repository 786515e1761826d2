"""How many threads the engine of a model instance uses: its share of the cores, or all while no other one computes.

Instances that share the cores run batches at the same time: none waits for a core that another process uses, and one
computes while another sends its answers. But a single request would get only one instance's share of the cores. So
each instance has two engines, because an engine's number of threads cannot change.
"""

import fcntl
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from triton_ensembles.runtime.backends.common.model_instance import ModelInstance

E = TypeVar("E")
_FLOCK = "@hhqqi0q"  # struct flock of Linux: type, whence, start, length, process


class InstanceEngine(Generic[E]):
    """The engines of one instance: one with its share of the cores and, where the share is smaller, one with all cores.

    The config's ``parameter`` fixes the number of threads; without it, or with 0, this class decides.
    """

    def __init__(self, model: ModelInstance, make: Callable[[int], E], parameter: str) -> None:
        cores = len(os.sched_getaffinity(0))  # fewer than the machine's under taskset or in a container
        fixed = model.integer(parameter, 0)
        share = fixed or max(1, cores // model.instances)
        self._engine = make(share)
        can_widen = not fixed and model.gpu is None and share < cores
        self._siblings = find_siblings(model.file) if can_widen else None
        self._alone = make(cores) if self._siblings else None

    @contextmanager
    def engine(self, requests: int) -> Iterator[E]:
        """The engine for a batch of ``requests`` requests, which begins now and ends with the context."""
        if self._siblings is None or self._alone is None:
            yield self._engine
            return
        with self._siblings.computing() as alone:
            # Several requests at once mean that there is a queue, and other instances will soon take from it.
            yield self._alone if alone and requests == 1 else self._engine

    def close(self) -> None:
        del self._engine, self._alone
        if self._siblings is not None:
            self._siblings.close()


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
        query = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        lock = struct.unpack(_FLOCK, fcntl.fcntl(self._descriptor, fcntl.F_GETLK, query))
        return bool(lock[0] == fcntl.F_UNLCK)


def find_siblings(file: Path) -> Siblings | None:
    """The instances that serve the model in ``file``; None where its file system has no locks."""
    siblings = Siblings(file)
    try:
        with siblings.computing():
            return siblings
    except OSError:
        siblings.close()
        return None
