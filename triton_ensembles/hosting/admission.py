"""The loads and unloads of one instance that are in progress, by the rules of ``sagemaker/admission.py``.

A task measures the memory as long as loads wait, whenever something has changed, and has begin what may.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass

from triton_ensembles.hosting import faults
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.container import Container
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.model_processes import Usage
from triton_ensembles.sagemaker.admission import Load, LoadQueue
from triton_ensembles.sagemaker.eviction import evictable
from triton_ensembles.sagemaker.loading import ModelSizes
from triton_ensembles.sagemaker.model_state import ModelState

_CORES = os.cpu_count() or 1
_PATIENCE = 2.0  # seconds that a load waits for a model in use to become idle


@dataclass(frozen=True)
class _Look:
    """The container's memory, as :class:`~triton_ensembles.sagemaker.admission.Memory`."""

    usage: Usage
    models: Mapping[str, Model]

    @property
    def used(self) -> int:
        return self.usage.total

    @property
    def has_loaded(self) -> bool:
        return any(model.loaded for model in self.models.values())

    def idle(self) -> list[Model]:
        idle = (model for model in evictable(self.models.values()) if model.loaded)
        return sorted(idle, key=lambda model: model.last_use)

    def of_load(self, model: Model) -> int:
        return self.usage.of_models.get(model.hash, 0)

    def of_loaded(self, model: Model) -> int:
        """A model without a process of its own has its memory in the server."""
        return self.of_load(model) if model.stubs else model.load_bytes


class Admission:
    """Has loads wait until they may begin, and unloads idle models for them.

    Args:
        unload: unloads a model, and is told what it is evicted for, if it is.
    """

    def __init__(
        self,
        container: Container,
        models: Mapping[str, Model],
        sizes: ModelSizes,
        budgets: Budgets,
        unload: Callable[[Model, str], Coroutine[None, None, None]],
    ) -> None:
        self._container = container
        self._models = models
        self._sizes = sizes
        self._budget = budgets.memory_bytes
        self._unload = unload
        self._queue = LoadQueue[Model](sizes, self._budget, _CORES, patience=_PATIENCE)
        self._waiting: dict[Load[Model], asyncio.Future[Load[Model]]] = {}
        self._unloads: dict[Model, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._driving: asyncio.Task[None] | None = None
        self._measuring = False
        self._ended: list[Callable[[], None]] = []

    async def enter(self, model: Model, alone: bool) -> Load[Model]:
        """Wait until the model may be loaded, and reserve its memory until :meth:`leave`.

        Raises HostingError when all other models are in use, and the model is known not to fit beside them.
        """
        load = Load(model, alone)
        admitted: asyncio.Future[Load[Model]] = asyncio.get_running_loop().create_future()
        self._waiting[load] = admitted
        self._queue.line.append(load)
        self._changed.set()
        if self._driving is None:
            self._driving = asyncio.create_task(self._drive())
        try:
            return await admitted
        except BaseException:
            self._waiting.pop(load, None)
            self.leave(load)
            raise

    def leave(self, load: Load[Model]) -> None:
        """Note that a load has ended."""
        self._end(lambda: self._queue.leave(load))

    def became_idle(self) -> None:
        """Note that a model that was in use no longer is: it may be evicted for a load in line."""
        if self._queue.line:
            self._changed.set()

    def begin_unload(self, model: Model, why: str = "") -> asyncio.Task[None]:
        """Begin to unload a model that is loaded and not in use."""
        model.state = ModelState.UNLOADING
        self._queue.unloading.add(model)

        async def unload() -> None:
            try:
                await self._unload(model, why)
            finally:
                del self._unloads[model]
                self._end(lambda: self._queue.unloading.discard(model))

        self._unloads[model] = task = asyncio.create_task(unload())
        return task

    async def an_unload_ends(self) -> bool:
        """Wait for the first of the unloads in progress; False when there is none."""
        if unloads := list(self._unloads.values()):
            await asyncio.wait(unloads, return_when=asyncio.FIRST_COMPLETED)
        return bool(unloads)

    async def evict(self, why: str, spare: Model | None) -> bool:
        """Evict the least recently used model, or wait for an unload that has begun; False when all are in use."""
        if not self._unloads:
            self._evict_first(_Look(Usage(), self._models), why, spare)
        return await self.an_unload_ends()

    def evict_ahead(self, usage: Usage) -> None:
        """After a load, evict idle models until a usual one has room: the next load then waits for no unload."""
        for idle in self._queue.make_room(self._sizes.usual, _Look(usage, self._models)):
            self.begin_unload(idle, "the next load is to find room (--evict-ahead)")

    def evict_excess(self, usage: Usage, why: str) -> bool:
        """Evict until what stays loaded is within the budget. False when it is not, and every model is in use."""
        look = _Look(usage, self._models)
        while usage.total - _freed(self._unloads, look) > self._budget:
            if not self._evict_first(look, why):
                return False
        return True

    async def close(self) -> None:
        """Cancel all unloads."""
        tasks = [*self._unloads.values(), *([self._driving] if self._driving else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _evict_first(self, look: _Look, why: str, spare: Model | None = None) -> bool:
        victim = next((model for model in look.idle() if model is not spare), None)
        if victim is not None:
            self.begin_unload(victim, why)
        return victim is not None

    def _end(self, note: Callable[[], None]) -> None:
        """Note that something has ended: after the measurement in progress, which may not show it."""
        self._ended.append(note)
        self._note_ended()

    def _note_ended(self) -> None:
        while self._ended and not self._measuring:
            self._ended.pop(0)()
            self._changed.set()

    async def _drive(self) -> None:
        """Let loads begin until none waits any more."""
        try:
            while self._waiting:
                self._changed.clear()
                again = await self._advance() if self._queue.can_advance else None
                for load in self._waiting:
                    load.model.waits_for = self._queue.reason(load)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if again is None else max(0.0, again - time.monotonic())):
                        await self._changed.wait()
        except Exception as error:  # the memory cannot be measured: whoever waits would wait forever
            for admitted in self._waiting.values():
                if not admitted.done():
                    admitted.set_exception(error)
        finally:
            self._driving = None

    async def _advance(self) -> float | None:
        """Measure, and carry out what follows. Returns the time to look again though nothing changes."""
        self._measuring = True
        try:
            look = await self._look()
            for load, victim in self._queue.advance(look, time.monotonic()):
                if victim is not None:
                    self.begin_unload(victim, f"'{load.model.target_model}' needs the memory")
                else:
                    self._answer(load)
            return self._queue.again
        finally:
            self._measuring = False
            self._note_ended()

    def _answer(self, load: Load[Model]) -> None:
        admitted = self._waiting.pop(load, None)
        if admitted is None or admitted.done():  # canceled a moment ago
            return
        if load.refused:
            name = load.model.target_model
            admitted.set_exception(faults.not_enough_room(name, "memory", load.refused, self._budget, True))
        else:
            admitted.set_result(load)

    async def _look(self) -> _Look:
        loaded = {model: model.loads for model in self._models.values() if model.loaded}
        usage = await self._container.usage()
        for model, number in loaded.items():
            if model.loaded and model.loads == number and (taken := usage.of_models.get(model.hash)):
                self._sizes.note_growth(model, taken)  # it may be unloaded before the next measurement
        return _Look(usage, self._models)


def _freed(unloads: Iterable[Model], look: _Look) -> int:
    """Return what is free once these unloads have ended."""
    return sum(map(look.of_loaded, unloads))
