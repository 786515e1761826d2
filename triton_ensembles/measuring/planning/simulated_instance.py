"""An instance of the simulation: its cores, its memory and its disk.

Whether a load may begin, what is evicted for it and which unloads may overlap are the endpoint's own rules, imported
from ``sagemaker/admission.py``, ``loading.py`` and ``eviction.py``.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from triton_ensembles.measuring.planning.cores import FETCH, LOAD, NEVER, TURN, UNLOAD, SharedCores
from triton_ensembles.measuring.planning.demand import Demand
from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.planning.simulated_memory import SimulatedDisk, SimulatedMemory
from triton_ensembles.measuring.planning.simulated_model import SimulatedModel
from triton_ensembles.sagemaker.admission import Action, Load, LoadQueue
from triton_ensembles.sagemaker.loading import ModelSizes, Unloads, kept_free
from triton_ensembles.sagemaker.model_state import ModelState

_ROUNDING = 1e-6  # seconds: of the clock


class Counts(NamedTuple):
    """Sums since the beginning.

    Attributes:
        loads, fetches: how many have begun.
        core_seconds: that jobs which have begun take; of these, ``load_core_seconds`` for fetches and loads.
        disk_seconds: that the disk needs for the reads and writes that have begun.
        loaded_seconds, byte_seconds: integrals over time of the models loaded, and of the bytes in memory.
    """

    loads: int
    fetches: int
    core_seconds: float
    load_core_seconds: float
    disk_seconds: float
    loaded_seconds: float
    byte_seconds: float


class SimulatedInstance:
    """Call ``advance`` with the present time before anything else, and ``cores.plan`` after it.

    Attributes:
        cores: the jobs that run.
        in_flight: requests that wait or are being answered.
        models: those on the disk or on their way to it.
    """

    def __init__(self, demands: Sequence[Demand], overhead: float, host: Host) -> None:
        self.cores = SharedCores(host.cores)
        self.in_flight = 0
        self.models: dict[int, SimulatedModel] = {}
        self._demands = demands
        self._evict_ahead = host.evict_ahead
        budget = round(host.memory_bytes - overhead)
        self._preloaded_bytes = budget - kept_free(budget)
        self._sizes = ModelSizes()
        self._queue = LoadQueue[SimulatedModel](self._sizes, budget, host.cores, patience=NEVER)
        self._memory = SimulatedMemory()
        self._disk = SimulatedDisk(host)
        self._unfetched: deque[SimulatedModel] = deque()  # waiting for space on the disk
        self._unloads = Unloads()
        self._next_unloads: list[SimulatedModel] = []
        self._loads = 0
        self._fetches = 0
        self._load_core_seconds = 0.0
        self._loaded_seconds = 0.0
        self._byte_seconds = 0.0

    def advance(self, now: float) -> None:
        """Let time pass until ``now``."""
        passed = now - self.cores.now
        if passed > 0:
            self._loaded_seconds += passed * len(self._memory.loaded)
            self._byte_seconds += passed * self._memory.used
            self.cores.advance(now)

    def counts(self) -> Counts:
        return Counts(
            self._loads,
            self._fetches,
            self.cores.core_seconds,
            self._load_core_seconds,
            self._disk.seconds,
            self._loaded_seconds,
            self._byte_seconds,
        )

    def preload(self, model: SimulatedModel, last_use: float) -> None:
        """Have a model that was used so long ago in memory or on the disk, while there is room. The latest first."""
        if not self._disk.has_room(model):
            return
        self._sizes.note_load(model, model.load_bytes)
        model.last_use = last_use
        self.models[model.hash] = model
        self._disk.used += model.disk_bytes
        fits = not self._disk.idle and self._memory.loaded_bytes + model.load_bytes <= self._preloaded_bytes
        model.state = ModelState.LOADED if fits else ModelState.ON_DISK
        order = self._memory.loaded if fits else self._disk.idle
        order[model] = None
        order.move_to_end(model, last=False)
        self._memory.loaded_bytes += model.load_bytes if fits else 0

    @property
    def is_changing(self) -> bool:
        """Return whether a model is being loaded or unloaded."""
        return self._memory.is_loading or bool(self._queue.unloading)

    def find(self, number: int, kind: int) -> SimulatedModel:
        """Return the model, which is new if it is neither in memory nor on the disk."""
        model = self.models.get(number)
        if model is None:
            model = self.models[number] = SimulatedModel(number, kind, self._demands[kind])
        return model

    def want(self, model: SimulatedModel) -> None:
        """Fetch and load a model that a request has missed."""
        model.loading = True
        self._loads += 1
        if model.state is ModelState.WAITING:
            self._unfetched.append(model)
            self._fetch()
        else:
            self._disk.idle.pop(model, None)
            self._queue.line.append(Load(model))
            self.admit()

    def fetched(self, model: SimulatedModel) -> None:
        model.state = ModelState.ON_DISK
        self._queue.line.append(Load(model))
        self.admit()

    def has_loaded(self, model: SimulatedModel) -> None:
        self._queue.leave(self._queue.loads[model])
        self._memory.end_load(model)
        self._sizes.note_load(model, model.load_bytes)
        model.state = ModelState.LOADED
        model.loading = False
        if self._evict_ahead:
            for idle in self._queue.make_room(self._sizes.usual, self._memory):
                self._unload(idle)
        self._carry_out(self._queue.begin_reserved(self._memory))

    def has_unloaded(self, model: SimulatedModel) -> None:
        self._queue.unloading.remove(model)
        self._memory.end_unload(model)
        self._unloads.end()
        model.state = ModelState.ON_DISK
        if not model.loading:
            self._disk.idle[model] = None
        if not self._unloads.running:
            self._begin_next_unloads()
        self._carry_out(self._queue.begin_reserved(self._memory))
        self._fetch()
        self.admit()

    def turn(self) -> None:
        """Let unloads begin that waited for others, unless these have been followed by later ones."""
        if self._unloads.pause(self.cores.now) <= _ROUNDING:
            self._begin_next_unloads()

    def used(self, model: SimulatedModel) -> None:
        """Note that a request of the model has been answered."""
        model.in_use -= 1
        model.last_use = self.cores.now
        if model.state is ModelState.LOADED:
            self._memory.loaded.move_to_end(model)
            if not model.in_use and (self._queue.line or self._unfetched):
                self._fetch()
                self.admit()

    def admit(self) -> None:
        """Have loads reserve memory and begin, in their order, and evict idle models for them."""
        if self._queue.line:
            self._carry_out(self._queue.admit(self._memory, self.cores.now))
            for model in self._queue.loads:
                model.state = ModelState.LOADING  # to the routing, also while it waits for unloads

    def _carry_out(self, actions: Iterable[Action[SimulatedModel]]) -> None:
        for load, victim in actions:
            if victim is not None:
                self._unload(victim)
            else:
                self._load(load)

    def _load(self, load: Load[SimulatedModel]) -> None:
        self._memory.begin_load(load.model, load.bytes)
        demand = load.model.demand
        self._load_core_seconds += demand.load_core_seconds
        seconds = self._disk.job(self.cores.now, demand.read_bytes, demand.load_seconds)
        self.cores.begin(LOAD, load.model, seconds, demand.load_core_seconds)

    def _unload(self, model: SimulatedModel) -> None:
        self._memory.begin_unload(model)
        model.state = ModelState.UNLOADING
        self._next_unloads.append(model)
        pause = self._unloads.pause(self.cores.now)
        if pause <= 0:
            self._begin_next_unloads()
        else:
            self.cores.begin(TURN, model, pause, 0.0)

    def _begin_next_unloads(self) -> None:
        unloads, self._next_unloads = self._next_unloads, []
        for model in unloads:
            self._unloads.begin(self.cores.now)
            self.cores.begin(UNLOAD, model, model.demand.unload_seconds, 0.0)

    def _fetch(self) -> None:
        """Fetch models in their order, as far as there is room on the disk."""
        while self._unfetched and self._make_disk_room(self._unfetched[0]):
            model = self._unfetched.popleft()
            demand = model.demand
            self._disk.used += model.disk_bytes
            self._fetches += 1
            model.state = ModelState.DOWNLOADING
            self._load_core_seconds += demand.fetch_core_seconds
            seconds = self._disk.job(self.cores.now, demand.read_bytes, demand.fetch_seconds)
            self.cores.begin(FETCH, model, seconds, demand.fetch_core_seconds)

    def _make_disk_room(self, model: SimulatedModel) -> bool:
        """Delete what is not loaded, or else have something unloaded first: False until that has ended.

        Where everything is in use, AWS and the endpoint refuse the model; here it is fetched.
        """
        while not self._disk.has_room(model):
            if victim := self._disk.delete_idle():
                del self.models[victim.hash]
            elif self._queue.unloading:
                return False
            elif idle := next(iter(self._memory.idle()), None):
                self._queue.unloading.add(idle)
                self._unload(idle)
                return False
            else:
                break
        return True
