"""Decides when the loads of an instance begin, so that all of them together stay within its memory.

A load waits in line, reserves what its model is expected to take, and begins as soon as that is free; idle models are
evicted to make room. Loads run beside each other and beside unloads as long as what they reserve fits:

    what is in use, less the models that are being unloaded, plus what loads have reserved and do not use yet

What a model takes that has never been loaded is a guess: as much as the largest so far. Such loads wait for each other,
so that one guess is wrong at a time, unless there is room for all of them though each takes three times what was
guessed, or a quarter of the budget. Once many models of nearly one size have been loaded, a guess is as good as known.

There is neither a clock nor a container in it: whoever owns a LoadQueue says what happens, and carries out the actions
that follow, in their order. The local endpoint does so on its event loop, the simulation of ``plan`` with jobs in a
heap.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from triton_ensembles.sagemaker.loading import ModelSizes, Sized, kept_free, most_loads

# More loads may wait for unloads, each of which takes Triton a second, as long as they hold this share of the budget:
# what they have evicted is away meanwhile.
_WAITING_SHARE = 8
_GUESS_MARGIN = 3  # an unknown model may take this many times the guess, or this share of the budget
_GUESS_SHARE = 4
MEMORY, OTHER_LOADS, ITS_UNLOAD = "memory", "other loads", "its unload"
AnyModel = TypeVar("AnyModel", bound=Sized)


@dataclass(eq=False)
class Load(Generic[AnyModel]):
    """A load that waits in line, has reserved memory, or has begun.

    Attributes:
        alone: no other load may run at the same time.
        bytes: what it has reserved.
        forced: it begins without room: only the load itself can show whether the model fits.
        beside: another load has run at the same time.
        used: bytes that were in use when it began.
        waits_for: MEMORY, OTHER_LOADS or ITS_UNLOAD, the last time that it could not go on.
        patience: the time at which it no longer waits for models in use to become idle.
        refused: the bytes that all would take, if the model does not fit beside those that stay in use.
    """

    model: AnyModel
    alone: bool = False
    bytes: int = 0
    forced: bool = False
    begun: bool = False
    beside: bool = False
    used: int = 0
    waits_for: str = ""
    patience: float | None = None
    refused: int = 0


class Memory(Protocol[AnyModel]):
    """The memory of an instance when it was measured, in bytes.

    Attributes:
        used: by the server and all models.
        has_loaded: whether any model is loaded.
    """

    @property
    def used(self) -> int: ...
    @property
    def has_loaded(self) -> bool: ...
    def idle(self) -> Iterable[AnyModel]: ...  # loaded models that may be evicted, the least recently used first
    def of_load(self, model: AnyModel) -> int: ...  # taken by its load so far
    def of_loaded(self, model: AnyModel) -> int: ...  # free once it has been unloaded


# An idle model to be unloaded for the load; without one, the load begins, or is refused.
Action = tuple[Load[AnyModel], AnyModel | None]


class LoadQueue(Generic[AnyModel]):
    """The loads of one instance, in their order.

    Args:
        budget: bytes for the server and all models.
        patience: seconds that a load waits for models in use when nothing is loaded or unloaded any more.

    Attributes:
        line: loads that wait to reserve memory.
        loads: those that have reserved memory, by model.
        unloading: models.
        again: the time at which to ``advance`` though nothing happens until then.
    """

    def __init__(self, sizes: ModelSizes, budget: int, cores: int, *, patience: float) -> None:
        self.line: deque[Load[AnyModel]] = deque()
        self.loads: dict[AnyModel, Load[AnyModel]] = {}
        self.unloading: set[AnyModel] = set()
        self.again: float | None = None
        self._sizes = sizes
        self._budget = budget
        self._most_bytes = budget - kept_free(budget)
        self._cores = cores
        self._patience = patience

    def leave(self, load: Load[AnyModel]) -> None:
        """Note that a load has ended, or is no longer wanted."""
        if self.loads.get(load.model) is load:
            del self.loads[load.model]
        elif load in self.line:
            self.line.remove(load)

    @property
    def begun(self) -> int:
        """The number of loads that run."""
        return sum(load.begun for load in self.loads.values())

    @property
    def can_advance(self) -> bool:
        """Return whether it depends on the memory what happens next."""
        reserved = self.begun < min(len(self.loads), most_loads(self._cores))
        return reserved or (bool(self.line) and not self._obstacle(self.line[0]))

    def reason(self, load: Load[AnyModel]) -> str:
        """Return what a load waits for that has not begun: MEMORY, OTHER_LOADS or ITS_UNLOAD."""
        if load.model in self.loads:
            return load.waits_for
        return (self._obstacle(load) or load.waits_for) if load is self.line[0] else OTHER_LOADS

    def advance(self, memory: Memory[AnyModel], now: float) -> list[Action[AnyModel]]:
        """Return what follows from everything that has happened so far."""
        return [*self.begin_reserved(memory), *self.admit(memory, now)]

    def begin_reserved(self, memory: Memory[AnyModel]) -> list[Action[AnyModel]]:
        """Begin the loads that have reserved memory, where it is free by now.

        Models may have grown meanwhile: a load that lacks room, though no unload is in progress, waits in line again.
        """
        actions: list[Action[AnyModel]] = []
        lacking = []
        for load in [load for load in self.loads.values() if not load.begun]:
            if self._begins(load, memory):
                actions.append((load, None))
            elif not self.unloading and load.waits_for == MEMORY:
                lacking.append(load)
        for load in reversed(lacking):
            del self.loads[load.model]
            self.line.appendleft(load)
        return actions

    def admit(self, memory: Memory[AnyModel], now: float) -> list[Action[AnyModel]]:
        """Reserve memory for the loads in line, in their order: evict idle models, and begin what there is room for."""
        actions: list[Action[AnyModel]] = []
        self.again = None
        while self.line and not self._obstacle(load := self.line[0]):
            load.bytes, known = self._sizes.expected(load.model), self._sizes.known(load.model)
            if not (known or self._may_guess(load, memory)):
                load.waits_for = OTHER_LOADS
                break
            actions += [(load, victim) for victim in self.make_room(load.bytes, memory)]
            if load.bytes > self._room(memory):
                load.waits_for = MEMORY
                if self._is_patient(load, memory, now):
                    break
                if memory.has_loaded and known:
                    load.refused = memory.used + load.bytes
                    actions.append((self.line.popleft(), None))
                    continue
                load.forced = True
            self._reserve(self.line.popleft())
            if self._begins(load, memory):
                actions.append((load, None))
        return actions

    def make_room(self, need: int, memory: Memory[AnyModel]) -> list[AnyModel]:
        """Return the idle models to unload until there is room for ``need`` bytes: all, if that is not enough."""
        victims = []
        missing = need - self._room(memory)
        for model in memory.idle() if missing > 0 else ():
            if model not in self.unloading:
                victims.append(model)
                missing -= memory.of_loaded(model)
                if missing <= 0:
                    break
        self.unloading.update(victims)
        return victims

    def _obstacle(self, load: Load[AnyModel]) -> str:
        """Return why the first in line has to wait, however much memory there is; "" when it has not."""
        if load.model in self.unloading:
            return ITS_UNLOAD
        if not (loads := self.loads.values()):
            return ""
        waiting = sum(other.bytes for other in loads if not other.begun)
        most, one_is_alone = most_loads(self._cores), load.alone or any(other.alone for other in loads)
        crowded = self.begun >= most or (len(loads) >= most and waiting * _WAITING_SHARE > self._budget)
        return OTHER_LOADS if one_is_alone or crowded else ""

    def _may_guess(self, load: Load[AnyModel], memory: Memory[AnyModel]) -> bool:
        """Return whether a model that has never been loaded may be, beside others of which the same is true."""
        guesses = [other.bytes for other in self.loads.values() if not self._sizes.known(other.model)]
        if not guesses or self._sizes.alike:
            return True
        least = self._budget // _GUESS_SHARE
        more = sum(max((_GUESS_MARGIN - 1) * size, least - size) for size in (load.bytes, *guesses))
        return self._sizes.count > 0 and load.bytes + more <= self._room(memory)

    def _is_patient(self, load: Load[AnyModel], memory: Memory[AnyModel], now: float) -> bool:
        """Return whether a load without room waits: for what is in progress, or for a while for a model in use."""
        if self.loads or self.unloading:
            return True
        if load.patience is None:
            load.patience = now + self._patience
        self.again = load.patience
        return memory.has_loaded and now < load.patience

    def _reserve(self, load: Load[AnyModel]) -> None:
        for other in self.loads.values():
            other.beside = load.beside = True
        self.loads[load.model] = load

    def _begins(self, load: Load[AnyModel], memory: Memory[AnyModel]) -> bool:
        """Begin a load for which there is room now: what others that wait have reserved is still to be freed."""
        if self.begun >= most_loads(self._cores):
            load.waits_for = OTHER_LOADS
            return False
        begun = [other for other in self.loads.values() if other.begun or other is load]
        if memory.used + _reserved(begun, memory) > self._most_bytes and not load.forced:
            load.waits_for = MEMORY
            return False
        load.begun, load.used = True, memory.used
        return True

    def _room(self, memory: Memory[AnyModel]) -> int:
        """Return what is left when all loads and unloads have ended."""
        freed = sum(map(memory.of_loaded, self.unloading))
        return self._most_bytes - memory.used + freed - _reserved(self.loads.values(), memory)


def _reserved(loads: Iterable[Load[AnyModel]], memory: Memory[AnyModel]) -> int:
    """Return what these loads have reserved and do not use yet."""
    return sum(max(0, load.bytes - memory.of_load(load.model)) for load in loads)
