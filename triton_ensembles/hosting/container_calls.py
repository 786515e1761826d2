"""The loads and unloads of a container that may overlap: all but those of archives with equal step names.

Triton rebuilds an ensemble when another archive with a step of that name is loaded or unloaded. Two such calls at a
time may wait for each other forever (measured on 2.51.0).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from triton_ensembles.hosting.model import Model


@dataclass(eq=False)
class Call:
    """A load or unload that the container is working on."""

    model: Model
    beside: bool = False  # whether it has worked on another at the same time


class ContainerCalls:
    """The loads and unloads that the container is working on."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self._models = models
        self._working: set[Call] = set()
        self._alone: Model | None = None  # nothing else may begin until its call has ended
        self._ended = asyncio.Event()

    @contextlib.asynccontextmanager
    async def call(self, model: Model, alone: bool = False) -> AsyncIterator[Call]:
        """Wait until the model may be loaded or unloaded, and do that in this context; one call at a time ``alone``."""
        if alone:
            self._alone = model
        call = Call(model)
        try:
            while self._must_wait(model):
                await self._ended.wait()
            for running in self._working:
                call.beside = running.beside = True
            self._working.add(call)
            yield call
        finally:
            self._working.discard(call)
            if alone:
                self._alone = None
            self._ended.set()
            self._ended = asyncio.Event()

    def _must_wait(self, model: Model) -> bool:
        if self._alone is not None:
            return self._alone is not model or bool(self._working)
        return self._entangled(model) and any(self._entangled(call.model) for call in self._working)

    def _entangled(self, model: Model) -> bool:
        """Return whether another archive has a step of the same name."""
        neighbors = [neighbor for neighbor in self._models.values() if neighbor is not model]
        return any(not model.steps.isdisjoint(neighbor.steps) for neighbor in neighbors)
