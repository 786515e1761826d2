"""The model that is evicted when there is not enough room for another one.

AWS does not document its own rule (it unloads "unused" models and, when the disk is full, deletes unloaded ones). The
rule here is:

    The model whose last use ended longest ago is evicted first. A model that answers a request, or that a request
    waits for, is never evicted. Models are evicted one at a time, until there is enough room.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar


class Used(Protocol):
    """A model, as far as the rule is concerned."""

    in_use: int  # requests that wait for it or that it answers
    last_use: float  # when the last one ended


AnyModel = TypeVar("AnyModel", bound=Used)


def evictable(models: Iterable[AnyModel]) -> Iterator[AnyModel]:
    """The models that may be evicted, in the order given."""
    return (model for model in models if not model.in_use)


def least_recently_used(models: Iterable[AnyModel]) -> AnyModel | None:
    """The model to evict, or None when all of them are in use."""
    return min(evictable(models), key=lambda model: model.last_use, default=None)
