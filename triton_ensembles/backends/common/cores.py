"""How many threads an engine computes with, when its model has several instances: a share, or all while it is alone.

Instances that share the cores take batches side by side: none waits for a core that something else has taken, and one
computes while the answers of another travel. A single request would then get one instance's share of the cores. So
each instance has its engine twice, because engines fix the number of their threads when they are made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from triton_ensembles.backends.common.declared import Model
from triton_ensembles.backends.common.siblings import find_siblings

E = TypeVar("E")


class Shared(Generic[E]):
    """An engine of one instance, made with the instance's share of the cores, and once more with all of them where the
    share is smaller.

    Args:
        make: the engine with so many threads.
        parameter: of the config, that fixes the number of threads; 0 or its absence leaves it to this class.
    """

    def __init__(self, model: Model, make: Callable[[int], E], parameter: str) -> None:
        cores = len(os.sched_getaffinity(0))  # a container or taskset may have narrowed those of the machine
        fixed = model.integer(parameter, 0)
        share = fixed or max(1, cores // model.instances)
        self._engine = make(share)
        can_widen = not fixed and model.gpu is None and share < cores
        self._siblings = find_siblings(model.file) if can_widen else None
        self._alone = make(cores) if self._siblings else None

    @contextmanager
    def engine(self, requests: int) -> Iterator[E]:
        """The engine for a batch of so many requests, which begins now and ends with the context."""
        if self._siblings is None or self._alone is None:
            yield self._engine
            return
        with self._siblings.computing() as alone:
            # Several requests at once: there is a queue, and the others are about to take from it.
            yield self._alone if alone and requests == 1 else self._engine

    def close(self) -> None:
        del self._engine, self._alone
        if self._siblings is not None:
            self._siblings.close()
