"""An instance of the simulation: its cores, its memory and its disk.

The jobs that run share the cores: at full speed while there are enough, else all are slowed down alike. So each job
ends when a clock, which runs at that speed, shows a time that is known when the job begins.

Whether a load may begin, what is evicted for it and which unloads may overlap are the endpoint's own rules, imported
from ``sagemaker/loading.py`` and ``eviction.py``. Loads keep the order of its ``admission.py``: the first that
waits has its memory reserved, which evicts idle models, before the next is looked at; it begins when the unloads have
freed what it needs.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from triton_ensembles.measuring.planning.demand import Demand
from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.sagemaker import loading
from triton_ensembles.sagemaker.eviction import evictable
from triton_ensembles.sagemaker.model_state import ModelState


class SimulatedModel:
    """A model as the endpoint's rules see it: the counterpart of ``endpoint.hosting.model.Model``.

    Attributes:
        hash: the model's number in the traffic.
        state, in_use, last_use, disk_bytes, load_bytes: as there.
        loading: whether it is being fetched or loaded.
        is_fresh: whether it has begun no answer since it was loaded.
        waiting: requests that wait for the load.
        busy: requests that are being answered; ``line``: those that wait for one of these.
    """

    __slots__ = (
        *("hash", "kind", "demand", "state", "in_use", "last_use", "disk_bytes", "load_bytes"),
        *("loading", "is_fresh", "waiting", "busy", "line"),
    )

    def __init__(self, number: int, kind: int, demand: Demand) -> None:
        self.hash = number
        self.kind = kind
        self.demand = demand
        self.state = ModelState.WAITING
        self.in_use = 0
        self.last_use = 0.0
        self.disk_bytes = round(demand.disk_bytes)
        self.load_bytes = round(demand.memory_bytes)
        self.loading = False
        self.is_fresh = False
        self.waiting: list[int] = []
        self.busy = 0
        self.line: deque[int] = deque()


NEVER = float("inf")
ANSWER, FETCH, LOAD, UNLOAD, TURN = range(5)
_ROUNDING = 1e-6  # seconds: of the clock


class Job(NamedTuple):
    """Ends when the instance's clock shows ``end``; ``number`` keeps those that end together in order."""

    end: float
    number: int
    kind: int
    model: SimulatedModel
    request: int
    cores: float


class SimulatedInstance:
    """Call ``advance`` with the present time before anything else, and ``plan`` after it.

    Attributes:
        next: when the next job ends; NEVER without one.
        in_flight: requests that wait or are being answered.
        models: those on the disk or on their way to it.
        loads, fetches: how many have begun.
        core_seconds: that jobs which have begun take; of these, ``load_core_seconds`` for fetches and loads.
        disk_seconds: that the disk needs for the reads and writes that have begun.
        loaded_seconds, byte_seconds: integrals over time of the models loaded, and of the bytes in memory.
    """

    def __init__(self, demands: Sequence[Demand], overhead: float, host: Host) -> None:
        self.next = NEVER
        self.in_flight = 0
        self.models: dict[int, SimulatedModel] = {}
        self.loads = 0
        self.fetches = 0
        self.core_seconds = 0.0
        self.load_core_seconds = 0.0
        self.disk_seconds = 0.0
        self.loaded_seconds = 0.0
        self.byte_seconds = 0.0
        self._demands = demands
        self._cores = host.cores
        self._budget = round(host.memory_bytes - overhead)
        self._kept_free = loading.kept_free(self._budget)
        self._evict_ahead = host.evict_ahead
        self._disk_budget = NEVER if host.disk_bytes is None else float(host.disk_bytes)
        self._rate = host.disk_rate
        self._now = 0.0
        self._clock = 0.0
        self._speed = 1.0
        self._demanded = 0.0  # cores
        self._jobs: list[Job] = []
        self._number = 0
        self._sizes = loading.ModelSizes()
        self._loaded: OrderedDict[SimulatedModel, None] = OrderedDict()  # the least recently used first
        self._on_disk: OrderedDict[SimulatedModel, None] = OrderedDict()
        self._unfetched: deque[SimulatedModel] = deque()  # waiting for space on the disk
        self._queue: deque[SimulatedModel] = deque()  # fetched, and waiting for admission
        self._admitted: dict[SimulatedModel, int] = {}  # with the bytes reserved
        self._pending: list[SimulatedModel] = []  # admitted, and waiting for unloads or for other loads
        self._begun = 0  # loads that run, and the bytes that they have reserved
        self._begun_bytes = 0
        self._loaded_bytes = 0
        self._unloading = 0  # models, those included whose unload waits for others
        self._unloading_bytes = 0
        self._unloads = loading.Unloads()
        self._next_unloads: list[SimulatedModel] = []
        self._disk_used = 0
        self._disk_free_at = 0.0

    def advance(self, now: float) -> None:
        """Let the clock run to ``now``."""
        passed = now - self._now
        if passed > 0:
            self._clock += passed * self._speed
            self.loaded_seconds += passed * len(self._loaded)
            self.byte_seconds += passed * (self._loaded_bytes + self._unloading_bytes + self._begun_bytes)
            self._now = now

    def plan(self) -> None:
        """Find the speed and the next end of a job."""
        self._speed = self._cores / self._demanded if self._demanded > self._cores else 1.0
        self.next = self._now + max(0.0, self._jobs[0].end - self._clock) / self._speed if self._jobs else NEVER

    def pop(self) -> Job:
        """The job that has ended."""
        job = heappop(self._jobs)
        self._demanded = max(0.0, self._demanded - job.cores) if self._jobs else 0.0
        return job

    def preload(self, model: SimulatedModel, last_use: float) -> None:
        """A model that was used so long ago: in memory or on the disk, while there is room. The latest first."""
        size = model.load_bytes
        if self._disk_used + model.disk_bytes > self._disk_budget:
            return
        self._sizes.note_load(model, size)
        model.last_use = last_use
        self.models[model.hash] = model
        self._disk_used += model.disk_bytes
        fits = not self._on_disk and self._loaded_bytes + size <= self._budget - self._kept_free
        model.state = ModelState.LOADED if fits else ModelState.ON_DISK
        order = self._loaded if fits else self._on_disk
        order[model] = None
        order.move_to_end(model, last=False)
        self._loaded_bytes += size if fits else 0

    @property
    def is_changing(self) -> bool:
        """Whether a model is being loaded or unloaded."""
        return bool(self._begun or self._unloading)

    def find(self, number: int, kind: int) -> SimulatedModel:
        """The model, which is new if it is neither in memory nor on the disk."""
        model = self.models.get(number)
        if model is None:
            model = self.models[number] = SimulatedModel(number, kind, self._demands[kind])
        return model

    def begin(self, kind: int, model: SimulatedModel, seconds: float, core_seconds: float, request: int = -1) -> None:
        """A job that would take so long alone."""
        cores = core_seconds / seconds if seconds > 0 else 0.0
        self._number += 1
        heappush(self._jobs, Job(self._clock + seconds, self._number, kind, model, request, cores))
        self._demanded += cores
        self.core_seconds += core_seconds

    def want(self, model: SimulatedModel) -> None:
        """Fetch and load a model that a request has missed."""
        model.loading = True
        self.loads += 1
        if model.state is ModelState.WAITING:
            self._unfetched.append(model)
            self._fetch()
        else:
            self._on_disk.pop(model, None)
            self._queue.append(model)
            self.admit()

    def fetched(self, model: SimulatedModel) -> None:
        model.state = ModelState.ON_DISK
        self._queue.append(model)
        self.admit()

    def has_loaded(self, model: SimulatedModel) -> None:
        self._begun_bytes -= self._admitted.pop(model)
        self._begun -= 1
        self._sizes.note_load(model, model.load_bytes)
        model.state = ModelState.LOADED
        model.loading = False
        self._loaded[model] = None
        self._loaded_bytes += model.load_bytes
        if self._evict_ahead:
            loading.make_room(self._sizes.usual, self._room, self._evict)
        self._begin_pending()

    def has_unloaded(self, model: SimulatedModel) -> None:
        self._unloading -= 1
        self._unloading_bytes -= model.load_bytes
        self._unloads.end()
        model.state = ModelState.ON_DISK
        if not model.loading:
            self._on_disk[model] = None
        if not self._unloads.running:
            self._begin_next_unloads()
        self._begin_pending()
        self._fetch()
        self.admit()

    def turn(self) -> None:
        """Unloads that waited for others may begin, unless these have been followed by later ones."""
        if self._unloads.pause(self._now) <= _ROUNDING:
            self._begin_next_unloads()

    def used(self, model: SimulatedModel) -> None:
        """A request of the model has been answered."""
        model.in_use -= 1
        model.last_use = self._now
        if model.state is ModelState.LOADED:
            self._loaded.move_to_end(model)
            if not model.in_use and (self._queue or self._unfetched):
                self._fetch()
                self.admit()

    def admit(self) -> None:
        """Reserve memory for loads that wait, in their order, and evict idle models for them."""
        while self._queue and not self._must_wait():
            model = self._queue[0]
            if model.state is ModelState.UNLOADING:
                return
            need = self._sizes.expected(model)
            if not (self._sizes.known(model) or self._may_guess(need)):
                return
            has_room = loading.make_room(need, self._room, self._evict)
            if not has_room and (self._admitted or self._unloading or self._loaded):
                return
            self._queue.popleft()
            self._admitted[model] = need
            model.state = ModelState.LOADING
            self._begin_load(model)

    def _must_wait(self) -> bool:
        waiting = sum(self._admitted[model] for model in self._pending)
        return loading.must_wait(len(self._admitted), self._begun, waiting, self._budget, self._cores)

    def _may_guess(self, need: int) -> bool:
        guesses = (size for model, size in self._admitted.items() if not self._sizes.known(model))
        return loading.may_guess(need, guesses, self._sizes, self._budget, self._room)

    def _room(self) -> int:
        """When the unloads and loads in progress have ended."""
        return self._budget - self._kept_free - self._loaded_bytes - sum(self._admitted.values())

    def _begin_pending(self) -> None:
        pending, self._pending = self._pending, []
        for model in pending:
            self._begin_load(model)

    def _begin_load(self, model: SimulatedModel) -> None:
        need = self._admitted[model]
        used = self._loaded_bytes + self._unloading_bytes + self._begun_bytes
        has_room = used + need <= self._budget - self._kept_free
        if (not has_room and self._unloading) or self._begun >= loading.most_loads(self._cores):
            self._pending.append(model)
            return
        self._begun += 1
        self._begun_bytes += need
        demand = model.demand
        self.load_core_seconds += demand.load_core_seconds
        self.begin(LOAD, model, self._disk_job(demand, demand.load_seconds), demand.load_core_seconds)

    def _evict(self) -> bool:
        victim = next(evictable(self._loaded), None)
        if victim is None:
            return False
        del self._loaded[victim]
        self._loaded_bytes -= victim.load_bytes
        self._unloading_bytes += victim.load_bytes
        self._unloading += 1
        victim.state = ModelState.UNLOADING
        self._next_unloads.append(victim)
        pause = self._unloads.pause(self._now)
        if pause <= 0:
            self._begin_next_unloads()
        else:
            self.begin(TURN, victim, pause, 0.0)
        return True

    def _begin_next_unloads(self) -> None:
        unloads, self._next_unloads = self._next_unloads, []
        for model in unloads:
            self._unloads.begin(self._now)
            self.begin(UNLOAD, model, model.demand.unload_seconds, 0.0)

    def _fetch(self) -> None:
        """Make room on the disk: delete what is not loaded, or else have something unloaded first."""
        while self._unfetched:
            model = self._unfetched[0]
            demand = model.demand
            while self._disk_used + model.disk_bytes > self._disk_budget:
                victim = next(evictable(self._on_disk), None)
                if victim is None:
                    if self._unloading or self._evict():
                        return
                    break  # everything is in use: AWS and the endpoint refuse it; here it continues
                del self._on_disk[victim]
                del self.models[victim.hash]
                self._disk_used -= victim.disk_bytes
            self._unfetched.popleft()
            self._disk_used += model.disk_bytes
            self.fetches += 1
            model.state = ModelState.DOWNLOADING
            self.load_core_seconds += demand.fetch_core_seconds
            self.begin(FETCH, model, self._disk_job(demand, demand.fetch_seconds), demand.fetch_core_seconds)

    def _disk_job(self, demand: Demand, least: float) -> float:
        """Seconds that a read or write of the archive's files takes beside those before it."""
        if self._rate is None:
            return least
        seconds = demand.read_bytes / self._rate
        self.disk_seconds += seconds
        self._disk_free_at = max(self._disk_free_at, self._now) + seconds
        return max(least, self._disk_free_at - self._now)
