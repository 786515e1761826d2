"""Which model is evicted when there is not enough room for another one.

AWS does not document its own rule (it unloads "unused" models and, when the disk is full, deletes unloaded ones). The
rule here is:

    The model whose last use ended longest ago is evicted first. A model that answers a request, or that a request
    waits for, is never evicted. Models are evicted one at a time, until there is enough room.
"""

from collections.abc import Iterable

from triton_ensembles.endpoint.hosting.model import Model


def least_recently_used(models: Iterable[Model]) -> Model | None:
    """The model to evict, or None when all of them are in use."""
    return min((model for model in models if not model.in_use), key=lambda model: model.last_use, default=None)
