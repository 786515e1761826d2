"""Decides when a load may begin, so that all loads together stay within the memory budget.

A load reserves what its model is expected to take before it begins; idle models are unloaded to make room. Loads run
beside each other and beside unloads as long as what they reserve fits:

    what the container uses, less the models that are being unloaded, plus what loads have reserved and do not use yet

What a model takes that has never been loaded is a guess: as much as the largest so far. Such loads wait for each other,
so that one guess is wrong at a time, unless there is room for all of them though each takes three times what was
guessed, or a quarter of the budget. Once many models of nearly one size have been loaded, a guess is as good as known.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from triton_ensembles.endpoint.hosting import faults
from triton_ensembles.endpoint.hosting.container_process import Container
from triton_ensembles.endpoint.hosting.model import Model
from triton_ensembles.endpoint.hosting.model_processes import Usage
from triton_ensembles.endpoint.hosting.spec import Budgets
from triton_ensembles.sagemaker.eviction import least_recently_used
from triton_ensembles.sagemaker.loading import ModelSizes, kept_free, make_room, may_guess, most_loads, must_wait

_CORES = os.cpu_count() or 1
_MOST_LOADS = most_loads(_CORES)
_PATIENCE = 2.0  # seconds that a load waits for a model in use to become idle


@dataclass(eq=False)
class Reservation:
    """The memory that a load has reserved."""

    bytes: int
    known: bool  # whether that is what the model took before; otherwise it is a guess
    alone: bool  # no other load may run at the same time
    beside: bool = False  # whether another load has run at the same time
    used: int = 0  # bytes that the container used when there was room, a moment before the load began
    begun: bool = False  # otherwise it waits for unloads


class _Look(NamedTuple):
    usage: Usage
    loading: dict[Model, Reservation]
    unloading: set[Model]


class Admission:
    """The loads and unloads of one instance that are in progress. ``unload`` takes an idle model, and why."""

    def __init__(
        self,
        container: Container,
        models: Mapping[str, Model],
        sizes: ModelSizes,
        budgets: Budgets,
        unload: Callable[[Model, str], asyncio.Task[None]],
    ) -> None:
        self.loading: dict[Model, Reservation] = {}
        self.unloading: dict[Model, asyncio.Task[None]] = {}
        self._container = container
        self._models = models
        self._sizes = sizes
        self._budget = budgets.memory_bytes
        self._kept_free = kept_free(self._budget)
        self._unload = unload
        self._entering = asyncio.Lock()
        self._changed = asyncio.Event()
        self._next_change = asyncio.Event()

    def changed(self) -> None:
        """A load or an unload has ended, or a model has become idle."""
        self._changed.set()
        self._next_change.set()
        self._next_change = asyncio.Event()

    async def enter(self, model: Model, alone: bool) -> Reservation:
        """Wait until the model may be loaded, and reserve its memory until :meth:`leave`.

        Raises HostingError when all other models are in use, and the model is known not to fit beside them.
        """
        while True:
            model.waits_for = "other loads" if self._entering.locked() else model.waits_for
            async with self._entering:
                fits, look = await self._until_it_fits(model, alone)
                reserved = Reservation(self._sizes.expected(model), self._sizes.known(model), alone)
                for load in self.loading.values():
                    load.beside = reserved.beside = True
                self.loading[model] = reserved
            try:
                latest = await self._until_room_is_made(model, look) if fits else look
                if latest is not None:
                    reserved.used, reserved.begun = latest.usage.total, True
                    return reserved
            except BaseException:
                self.leave(model)
                raise
            self.leave(model)

    def leave(self, model: Model) -> None:
        del self.loading[model]
        self.changed()

    async def an_unload_ends(self) -> bool:
        """Wait for the first of the unloads in progress; False when there is none."""
        if unloads := list(self.unloading.values()):
            await asyncio.wait(unloads, return_when=asyncio.FIRST_COMPLETED)
        return bool(unloads)

    def evict(self, why: str, spare: Model | None = None) -> asyncio.Task[None] | None:
        """Begin to unload the least recently used model, but not ``spare``; None when every model is in use."""
        loaded = (model for model in self._models.values() if model.loaded and model is not spare)
        victim = least_recently_used(loaded)
        return None if victim is None else self._unload(victim, why)

    def evict_ahead(self, usage: Usage) -> None:
        """After a load, evict idle models until a usual one has room: the next load then waits for no unload."""
        room = partial(self._room, _Look(usage, dict(self.loading), set(self.unloading)))
        make_room(self._sizes.usual, room, partial(self.evict, "the next load is to find room (--evict-ahead)"))

    def evict_excess(self, usage: Usage, why: str) -> bool:
        """Evict until what stays loaded is within the budget. False when it is not, and every model is in use."""
        while usage.total - _freed(self.unloading, usage) > self._budget:
            if not self.evict(why):
                return False
        return True

    async def _until_it_fits(self, model: Model, alone: bool) -> tuple[bool, _Look]:
        """Wait until there is, or will be, room for the model; False: there is none, and the load shows if it fits."""
        patience: float | None = None
        while True:
            self._changed.clear()
            reason = "its unload" if model in self.unloading else "other loads"
            if model not in self.unloading and not self._must_wait(alone):
                look = await self._look()
                need, known = self._sizes.expected(model), self._sizes.known(model)
                guesses = [load.bytes for load in look.loading.values() if not load.known]
                room = partial(self._room, look)
                if known or may_guess(need, guesses, self._sizes, self._budget, room):
                    evict = partial(self.evict, f"'{model.target_model}' needs the memory")
                    if make_room(need, room, evict):
                        return True, look
                    reason = "memory"
                    if not self.loading and not self.unloading:
                        patience = patience or time.monotonic() + _PATIENCE
                        at_an_end = time.monotonic() >= patience
                        loaded = any(neighbor.loaded for neighbor in self._models.values())
                        if not loaded or (at_an_end and not known):
                            return False, look
                        if at_an_end:
                            used = look.usage.total + need
                            raise faults.not_enough_room(model.target_model, "memory", used, self._budget, True)
            model.waits_for = reason
            seconds = None if patience is None else max(0.0, patience - time.monotonic())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)

    def _must_wait(self, alone: bool) -> bool:
        loads = self.loading.values()
        waiting = sum(load.bytes for load in loads if not load.begun)
        one_is_alone = any(load.alone for load in loads) or (alone and bool(loads))
        return one_is_alone or must_wait(len(loads), self._loads_begun, waiting, self._budget, _CORES)

    @property
    def _loads_begun(self) -> int:
        return sum(load.begun for load in self.loading.values())

    async def _until_room_is_made(self, model: Model, look: _Look) -> _Look | None:
        """Wait for the unloads that the load needs, and its turn. None if they have not freed what was expected.

        ``look`` is of a moment ago: one takes long where many models are loaded.
        """
        looked_again = False
        while (many := self._loads_begun >= _MOST_LOADS) or not self._has_room(model, look):
            model.waits_for = "other loads" if many else "memory"
            if many:
                await self._next_change.wait()
            elif not await self.an_unload_ends() and looked_again:
                return None
            look, looked_again = await self._look(), True
        return look

    def _has_room(self, model: Model, look: _Look) -> bool:
        """Whether the load may begin: what others that wait have reserved is still to be freed."""
        loading = look.loading | self.loading
        begun = {loaded: held for loaded, held in loading.items() if held.begun or loaded is model}
        return look.usage.total + _reserved(begun, look.usage) <= self._budget - self._kept_free

    async def _look(self) -> _Look:
        """Measure. Loads and unloads that end meanwhile count as if they were still in progress."""
        loading, unloading = dict(self.loading), set(self.unloading)
        loaded = {model: model.loads for model in self._models.values() if model.loaded}
        usage = await self._container.usage()
        for model, loads in loaded.items():
            if model.loaded and model.loads == loads and (taken := usage.of_models.get(model.hash)):
                self._sizes.note_growth(model, taken)  # it may be unloaded before the next measurement
        return _Look(usage, loading | self.loading, unloading - self.loading.keys())

    def _room(self, look: _Look) -> int:
        """What is left when the present loads and unloads have ended."""
        freed = _freed(look.unloading | self.unloading.keys(), look.usage)
        return self._budget - self._kept_free - look.usage.total + freed - _reserved(look.loading, look.usage)


def _freed(unloads: Iterable[Model], usage: Usage) -> int:
    """What is free once these unloads have ended. A model without a process of its own has its memory in the server."""
    return sum(usage.of_models.get(model.hash, 0) if model.stubs else model.load_bytes for model in unloads)


def _reserved(loads: Mapping[Model, Reservation], usage: Usage) -> int:
    """What these loads have reserved and do not use yet."""
    return sum(max(0, held.bytes - usage.of_models.get(model.hash, 0)) for model, held in loads.items())
