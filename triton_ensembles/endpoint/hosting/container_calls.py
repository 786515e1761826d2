"""Which loads and unloads of a container may overlap: all but those of archives with equal step names.

Triton rebuilds an ensemble when another archive with a step of that name is loaded or unloaded. Two such calls at a
time may wait for each other forever (measured on 2.51.0).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from triton_ensembles.endpoint.hosting.model import Model


class ContainerCalls:
    """The loads and unloads that the container is working on."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self._models = models
        self._working: set[Model] = set()
        self._ended = asyncio.Event()

    @contextlib.asynccontextmanager
    async def call(self, model: Model) -> AsyncIterator[None]:
        """Wait until the model may be loaded or unloaded, and do that in this context."""
        while self._entangled(model) and any(map(self._entangled, self._working)):
            await self._ended.wait()
        self._working.add(model)
        try:
            yield
        finally:
            self._working.remove(model)
            self._ended.set()
            self._ended = asyncio.Event()

    def _entangled(self, model: Model) -> bool:
        """Whether another archive has a step of the same name."""
        return any(
            other is not model and not model.steps.isdisjoint(other.steps) for other in list(self._models.values())
        )
