"""An instance of the simulation: its cores, its memory and its disk.

The jobs that run share the cores: at full speed while there are enough, else all are slowed down alike. So each job
ends when a clock, which runs at that speed, shows a time that is known when the job begins.

Loads keep the order of ``endpoint/hosting/admission.py``: the first that waits has its memory reserved, which evicts
idle models, before the next is looked at; it begins when the unloads have freed what it needs. Who is evicted,
how many load at a time, what a first load has to leave free and which unloads may overlap are the endpoint's own rules.
"""

from bisect import insort
from collections import OrderedDict, deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from triton_ensembles.endpoint.hosting.loading import fits_beside_guesses, is_crowded, most_loads
from triton_ensembles.endpoint.hosting.model import ModelState
from triton_ensembles.endpoint.hosting.model_sizes import are_alike
from triton_ensembles.endpoint.hosting.policy import evictable
from triton_ensembles.endpoint.hosting.turns import END_SECONDS, JOIN_SECONDS
from triton_ensembles.planning.demand import Demand
from triton_ensembles.planning.host import Host
from triton_ensembles.planning.simulated_model import SimulatedModel

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
        core_seconds: that jobs which have begun take.
    """

    def __init__(self, demands: Sequence[Demand], overhead: float, host: Host) -> None:
        self.next = NEVER
        self.in_flight = 0
        self.models: dict[int, SimulatedModel] = {}
        self.loads = self.fetches = 0
        self.core_seconds = 0.0
        self.loaded_seconds = self.byte_seconds = 0.0  # integrals over time of models loaded, and of bytes in memory
        self._demands = demands
        self._cores = float(host.cores)
        self._host_cores, self._most_loads = host.cores, most_loads(host.cores)
        self._budget = host.memory_bytes - overhead
        self._disk_budget = NEVER if host.disk_bytes is None else float(host.disk_bytes)
        self._rate = host.disk_rate
        self._now = self._clock = self._wanted = 0.0
        self._speed = 1.0
        self._jobs: list[Job] = []
        self._number = 0
        self._loaded: OrderedDict[SimulatedModel, None] = OrderedDict()  # the least recently used first
        self._on_disk: OrderedDict[SimulatedModel, None] = OrderedDict()
        self._queue: deque[SimulatedModel] = deque()  # fetched, not admitted
        self._admitted: OrderedDict[SimulatedModel, float] = OrderedDict()  # loading, with the bytes reserved
        self._loads_begun = 0
        self._begun = 0.0  # their bytes
        self._pending: list[SimulatedModel] = []  # admitted, and waiting for unloads or for others to have loaded
        self._unfetched: deque[SimulatedModel] = deque()  # waiting for space on the disk
        self._loaded_bytes = self._unloading_bytes = self._disk_used = 0.0
        self._unloading = 0
        self._overlapping = 0  # unloads that have begun
        self._joined_until = 0.0  # when it is too late to begin with them
        self._next_unloads: list[SimulatedModel] = []
        self._sizes: list[float] = []  # of models that have been loaded, ascending
        self._disk_free_at = 0.0

    def advance(self, now: float) -> None:
        """Let the clock run to ``now``."""
        passed = now - self._now
        if passed > 0:
            self._clock += passed * self._speed
            self.loaded_seconds += passed * len(self._loaded)
            self.byte_seconds += passed * (self._loaded_bytes + self._unloading_bytes + self._begun)
            self._now = now

    def plan(self) -> None:
        """Find the speed and the next end of a job."""
        self._speed = self._cores / self._wanted if self._wanted > self._cores else 1.0
        self.next = self._now + max(0.0, self._jobs[0].end - self._clock) / self._speed if self._jobs else NEVER

    def pop(self) -> Job:
        """The job that has ended."""
        job = heappop(self._jobs)
        self._wanted = max(0.0, self._wanted - job.cores) if self._jobs else 0.0
        return job

    def preload(self, model: SimulatedModel, last_use: float) -> None:
        """A model that was used so long ago: in memory or on the disk, while there is room. The latest first."""
        size, disk = model.demand.memory_bytes, model.demand.disk_bytes
        if self._disk_used + disk > self._disk_budget:
            return
        model.known, model.last_use = True, last_use
        self.models[model.index] = model
        self._disk_used += disk
        fits = not self._on_disk and self._loaded_bytes + size <= self._budget
        model.state = ModelState.LOADED if fits else ModelState.ON_DISK
        order = self._loaded if fits else self._on_disk
        order[model] = None
        order.move_to_end(model, last=False)
        self._loaded_bytes += size if fits else 0.0
        insort(self._sizes, size)

    def find(self, index: int, kind: int) -> SimulatedModel:
        """The model, which is new if it is neither in memory nor on the disk."""
        model = self.models.get(index)
        if model is None:
            model = self.models[index] = SimulatedModel(index, kind, self._demands[kind])
        return model

    def begin(self, kind: int, model: SimulatedModel, seconds: float, core_seconds: float, request: int = -1) -> None:
        """A job that would take so long alone."""
        cores = core_seconds / seconds if seconds > 0 else 0.0
        self._number += 1
        heappush(self._jobs, Job(self._clock + seconds, self._number, kind, model, request, cores))
        self._wanted += cores
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
        reserved = self._admitted.pop(model)
        size = model.demand.memory_bytes
        self._begun -= reserved
        self._loads_begun -= 1
        if not model.known:
            insort(self._sizes, size)
        model.state, model.loading, model.known = ModelState.LOADED, False, True
        self._loaded[model] = None
        self._loaded_bytes += size
        self._begin_pending()

    def has_unloaded(self, model: SimulatedModel) -> None:
        self._unloading -= 1
        self._overlapping -= 1
        self._unloading_bytes -= model.demand.memory_bytes
        model.state = ModelState.ON_DISK
        if not model.loading:
            self._on_disk[model] = None
        if not self._overlapping:
            self._begin_next_unloads()
        self._begin_pending()
        self._fetch()
        self.admit()

    def turn(self) -> None:
        """Unloads that waited for others may begin, unless these have been followed by later ones."""
        if self._now >= self._joined_until + END_SECONDS - _ROUNDING:
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
            need = self._expected(model)
            if not (model.known or self._may_guess(need)):
                return
            while need > self._room() and self._evict():
                pass
            if need > self._room() and (self._admitted or self._unloading or self._loaded):
                return
            self._queue.popleft()
            self._admitted[model] = need
            model.state = ModelState.LOADING
            self._begin_load(model)

    def _must_wait(self) -> bool:
        waiting = sum(self._admitted[each] for each in self._pending)
        crowded = is_crowded(len(self._admitted), int(waiting), int(self._budget), self._host_cores)
        return crowded or self._loads_begun >= self._most_loads

    def _begin_pending(self) -> None:
        waiting, self._pending = self._pending, []
        for each in waiting:
            self._begin_load(each)

    def _begin_load(self, model: SimulatedModel) -> None:
        need = self._admitted[model]
        free = self._budget - self._loaded_bytes - self._unloading_bytes - self._begun
        if (need > free and self._unloading) or self._loads_begun >= self._most_loads:
            self._pending.append(model)
            return
        self._begun += need
        self._loads_begun += 1
        demand = model.demand
        seconds = self._disk_seconds(demand.read_bytes, demand.load_seconds)
        self.begin(LOAD, model, seconds, demand.load_core_seconds)

    def _expected(self, model: SimulatedModel) -> float:
        return model.demand.memory_bytes if model.known else max([model.demand.disk_bytes, *self._sizes[-1:]])

    def _may_guess(self, need: float) -> bool:
        guesses = [int(size) for model, size in self._admitted.items() if not model.known]
        if not guesses or are_alike(self._sizes):
            return True
        return bool(self._sizes) and fits_beside_guesses(int(need), guesses, int(self._budget), int(self._room()))

    def _room(self) -> float:
        """When the unloads and loads in progress have ended."""
        return self._budget - self._loaded_bytes - sum(self._admitted.values())

    def _evict(self) -> bool:
        victim = next(evictable(self._loaded), None)
        if victim is None:
            return False
        del self._loaded[victim]
        size = victim.demand.memory_bytes
        self._loaded_bytes -= size
        self._unloading_bytes += size
        self._unloading += 1
        victim.state = ModelState.UNLOADING
        self._next_unloads.append(victim)
        if not self._overlapping or self._now < self._joined_until:
            self._begin_next_unloads()
        else:
            self.begin(TURN, victim, self._joined_until + END_SECONDS - self._now, 0.0)
        return True

    def _begin_next_unloads(self) -> None:
        """As ``endpoint/hosting/turns.py`` lets them: soon after each other, or after those before."""
        if self._next_unloads and (not self._overlapping or self._now >= self._joined_until):
            self._joined_until = self._now + JOIN_SECONDS
        unloads, self._next_unloads = self._next_unloads, []
        for model in unloads:
            self._overlapping += 1
            self.begin(UNLOAD, model, model.demand.unload_seconds, 0.0)

    def _fetch(self) -> None:
        """Make room on the disk: delete what is not loaded, or else have something unloaded first."""
        while self._unfetched:
            model = self._unfetched[0]
            demand = model.demand
            while self._disk_used + demand.disk_bytes > self._disk_budget:
                victim = next(evictable(self._on_disk), None)
                if victim is None:
                    if self._unloading or self._evict():
                        return
                    break  # everything is in use: AWS and the endpoint refuse it; here it goes on
                del self._on_disk[victim]
                del self.models[victim.index]
                self._disk_used -= victim.demand.disk_bytes
            self._unfetched.popleft()
            self._disk_used += demand.disk_bytes
            self.fetches += 1
            model.state = ModelState.DOWNLOADING
            self.begin(
                FETCH, model, self._disk_seconds(demand.read_bytes, demand.fetch_seconds), demand.fetch_core_seconds
            )

    def _disk_seconds(self, size: float, least: float) -> float:
        """How long a read or write takes beside those before it."""
        if self._rate is None:
            return least
        self._disk_free_at = max(self._disk_free_at, self._now) + size / self._rate
        return max(least, self._disk_free_at - self._now)
