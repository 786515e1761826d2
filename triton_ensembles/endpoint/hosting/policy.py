"""Which model has to go when there is no room for another one.

AWS does not document its own rule (it says that it unloads "unused" models and, when the disk is full, deletes unloaded
ones). This is ours, in one place:

    The model whose last use ended longest ago goes first. A model that a request waits for or is answered by
    never goes. One model goes at a time, and then it is seen whether there is room.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Candidate(Protocol):
    """What the rule looks at. ``last_use`` is a monotonic time; 0 for a model that was never used."""

    @property
    def in_use(self) -> int: ...

    @property
    def last_use(self) -> float: ...


C = TypeVar("C", bound=Candidate)


def least_recently_used(models: Iterable[C]) -> C | None:
    """The model to evict, or None when all of them are in use."""
    return min((model for model in models if not model.in_use), key=lambda model: model.last_use, default=None)
