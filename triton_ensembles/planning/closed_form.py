"""The steady state in closed form: which models are loaded, how busy the instances are, how long answers take.

Each instance is solved by itself, then they are added up. Loads take longer on busy cores, and cores are busier with
more loads, so both are solved in turn until they agree.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from triton_ensembles.endpoint.hosting.loading import most_loads
from triton_ensembles.endpoint.hosting.turns import END_SECONDS, JOIN_SECONDS
from triton_ensembles.planning.demand import Demand, Floats
from triton_ensembles.planning.host import Host
from triton_ensembles.planning.latency import Mixture
from triton_ensembles.planning.placement import place
from triton_ensembles.planning.prediction import Prediction
from triton_ensembles.planning.queueing import slowdowns, waiting
from triton_ensembles.planning.residency import Residency, residency
from triton_ensembles.planning.workload import Workload

_ROUNDS = 60
_AGREED = 1e-6  # of the share of loads
_CROWDED = 0.995  # of an instance's time: beyond it the queue is taken to have no end


class _Use(NamedTuple):
    """What a second asks of an instance: cores; shares of the disk's time, of the turns for loads, of the memory for
    models that are being loaded, and of the time of its busiest model."""

    requests: float
    loads: float
    disk: float
    turns: float
    memory: float
    model: float


@dataclass(frozen=True)
class _Instance:
    residency: Residency
    fetches: Floats  # share of requests, by model
    use: _Use
    possible: float  # loads a second
    overload: str
    memory: float


def closed_form(work: Workload, host: Host, count: int, mixture: Mixture | None = None) -> Prediction:
    """The steady state of ``count`` instances under Poisson traffic of constant rates.

    Args:
        mixture: receives the latencies, to be added to those of other hours.
    """
    placed = place(len(work.rates), count)
    found = []
    latencies = Mixture()
    for index in range(count):
        models = np.flatnonzero((placed == index) & (work.rates > 0))
        if len(models):
            part = Workload(work.rates[models], work.archives[models], work.demands)
            found.append((part, _solve(part, host, latencies)))
    total = float(work.rates.sum())
    cold = sum(float((part.rates * one.residency.cold).sum()) for part, one in found) / total
    loads = sum(float((part.rates * one.residency.loads).sum()) for part, one in found) / total
    fetches = sum(float((part.rates * one.fetches).sum()) for part, one in found) / total
    overload = next((one.overload for _, one in found if one.overload), "")
    if mixture is not None and not overload:
        mixture.add(latencies)
    empty = (count - len(found)) * min(each.server_bytes for each in work.demands)
    return Prediction(
        requests_per_second=total,
        cold=cold,
        loads=loads,
        fetches=fetches,
        loads_per_second=loads * total,
        loads_possible=count * min(one.possible for _, one in found),
        resident=sum(float(one.residency.loaded.sum()) for _, one in found),
        memory_bytes=sum(one.memory for _, one in found) + empty,
        cores=sum(one.use.requests + one.use.loads for _, one in found),
        busiest=max(_share(one.use, host) for _, one in found),
        warm=None if overload else latencies.warm(),
        every=None if overload else latencies.every(),
        overload=overload,
    )


def _share(use: _Use, host: Host) -> float:
    return max((use.requests + use.loads) / host.cores, use.disk, use.turns, use.memory, use.model)


def _solve(work: Workload, host: Host, latencies: Mixture) -> _Instance:
    cache = _Cache(work, host)
    slow, turn, share = 1.0, 0.0, -1.0
    late = longest = 0.0
    for number in range(_ROUNDS):
        found, fetched = cache.with_loads_of(slow, turn)
        use, possible = _use(work, host, found, fetched)
        now = float((work.rates * found.loads).sum())
        if _crowded(use, host) or abs(now - share) <= _AGREED * max(now, 1e-12):
            break
        share = now
        fresh = float(np.prod(_sharing(work, found, use, host), axis=0).sum())
        slow = fresh if number == 0 else (slow + fresh) / 2
        late, longest = _unload_turn(cache.mean_unload(found), now)
        turn = _turn(use, host, now) + late * longest / 2
    overload = _overload(work, use, host, slow)
    if overload and use.requests < _CROWDED * host.cores:
        found, fetched = cache.at_their_limit()
        use = _use(work, host, found, fetched)[0]
    if not overload:
        sharing = _sharing(work, found, use, host)
        slow = float(np.prod(sharing, axis=0).sum())
        means, lanes = work.of("mean_seconds"), work.of("lanes")
        busy = np.minimum(work.rates * means * slow, lanes * _CROWDED)
        variation = np.array([_variation(each) for each in work.demands])[work.kinds]
        seconds = means * slow * (1 + variation) / 2 / (lanes - busy)
        soonest = turn - late * longest / 2
        ready = cache.delay(slow, soonest, np.zeros_like(fetched)) + slow * work.of("first_seconds")
        loads = ready, cache.fetch * slow, fetched
        latencies.instance(work, sharing, (waiting(lanes, busy), seconds), found, loads, (late, longest))
    memory = float((cache.sizes * found.held).sum()) + work.overhead_bytes
    return _Instance(found, found.loads * fetched, use, possible, overload, memory)


class _Cache:
    """The memory and the disk of an instance, for loads that take more or less time."""

    def __init__(self, work: Workload, host: Host) -> None:
        self._work, self._host = work, host
        self.sizes, self._load, self._unload, self.fetch = (work.of(name) for name in _TIMES)
        self._capacity = _usable(self.sizes, host.memory_bytes - work.overhead_bytes)
        self._not_on_disk = _not_on_disk(work, host)

    def delay(self, slow: float, turn: float, fetched: Floats) -> Floats:
        """Seconds from a miss until the model is loaded. Before that another is unloaded, and its memory freed."""
        return turn + self._unload + slow * (self._load + fetched * self.fetch)

    def mean_unload(self, found: Residency) -> float:
        """Seconds."""
        loads = self._work.rates * found.loads
        return float((loads * self._unload).sum() / max(float(loads.sum()), 1e-300))

    def with_loads_of(self, slow: float, turn: float) -> tuple[Residency, Floats]:
        """By model: what is loaded, and the share of its loads that begin with a download.

        Args:
            slow: how many times as long loads take on busy cores.
            turn: seconds that a load waits for others.
        """
        fetched = np.zeros_like(self.sizes)
        for _ in range(_ROUNDS):
            delay, hold = self.delay(slow, turn, fetched), slow * self._load + self._unload
            found = residency(self._work.rates, self.sizes, delay, hold, self._capacity)
            before, fetched = fetched, np.minimum(1.0, self._not_on_disk / np.maximum(found.loads, 1e-300))
            fetched = np.where(found.loads > 0, fetched, 0.0)
            if np.abs(fetched - before).max() < 1e-3:
                break
        return found, fetched

    def at_their_limit(self) -> tuple[Residency, Floats]:
        """When loads queue up until so many requests wait for each that no more loads are needed than can be done."""
        low, high = 0.0, 1e5
        for _ in range(40):
            middle = (low + high) / 2 if low else high / 1e3
            found, fetched = self.with_loads_of(1.0, middle)
            low, high = (
                (middle, high)
                if _crowded(_use(self._work, self._host, found, fetched)[0], self._host)
                else (low, middle)
            )
            if high - low < 1e-3 * high:
                break
        return self.with_loads_of(1.0, high)


_TIMES = ("memory_bytes", "load_seconds", "unload_seconds", "fetch_seconds")


def _usable(sizes: Floats, capacity: float) -> float:
    """Memory that models can fill: a whole number of equal ones, or all but the rest that no other fits into."""
    if float(sizes.sum()) <= capacity:
        return capacity
    least, most = float(sizes.min()), float(sizes.max())
    if most - least <= 0.02 * most:
        return float(np.floor(capacity / most + 1e-9) * most)
    return max(least, capacity - float((sizes**2).mean() / sizes.mean()) / 2)


def _not_on_disk(work: Workload, host: Host) -> Floats:
    """Share of each model's requests that find it not even on the disk: least recently used, too."""
    if host.disk_bytes is None:
        return np.zeros_like(work.rates)
    sizes, nothing = work.of("disk_bytes"), np.zeros_like(work.rates)
    return residency(work.rates, sizes, nothing, nothing, float(host.disk_bytes)).loads


def _use(work: Workload, host: Host, found: Residency, fetched: Floats) -> tuple[_Use, float]:
    per_second = work.rates * found.loads
    answers = float((work.rates * work.of("answer_core_seconds")).sum())
    first = work.of("first_seconds") * work.of("answer_core_seconds") / work.of("mean_seconds")
    core = work.of("load_core_seconds") + first + fetched * work.of("fetch_core_seconds")
    turns = most_loads(host.cores)
    disk = (1 + fetched) * work.of("read_bytes") / host.disk_rate if host.disk_rate else np.zeros_like(core)
    held = work.of("load_seconds") + work.of("unload_seconds")
    use = _Use(
        answers,
        float((per_second * core).sum()),
        float((per_second * disk).sum()),
        float((per_second * held).sum()) / turns,
        float((per_second * held * work.of("memory_bytes")).sum()) / (host.memory_bytes - work.overhead_bytes),
        float((work.rates * work.of("mean_seconds") / work.of("lanes")).max()),
    )
    loads = float(per_second.sum())
    mix = per_second / loads if loads else work.rates / work.rates.sum()  # of the loads there are, or would be
    spare = max(0.0, host.cores - answers)
    bounds = (spare, float((mix * core).sum())), (1.0, float((mix * disk).sum())), (turns, float((mix * held).sum()))
    return use, min(have / need if need > 0 else float("inf") for have, need in bounds)


def _crowded(use: _Use, host: Host) -> bool:
    return max((use.requests + use.loads) / host.cores, use.disk, use.turns, use.memory) >= _CROWDED


def _sharing(work: Workload, found: Residency, use: _Use, host: Host) -> tuple[Floats, Floats]:
    """How much slower jobs run because the cores are shared."""
    jobs = float((work.rates * (work.of("mean_seconds") + found.loads * work.of("load_seconds"))).sum())
    cores = use.requests + use.loads
    if cores <= 0 or jobs <= 0:
        return np.ones(1), np.ones(1)
    return slowdowns(jobs, max(host.cores * jobs / cores, jobs / _CROWDED))


def _turn(use: _Use, host: Host, loads: float) -> float:
    """Mean seconds that a load waits for others, of which only so many run at a time."""
    turns = most_loads(host.cores)
    busy = use.turns * turns
    if loads <= 0 or busy >= turns * _CROWDED:
        return 0.0
    chance = float(waiting(np.array([float(turns)]), np.array([max(busy, 1e-12)]))[0])
    return chance * (busy / loads) / (turns - busy)


def _unload_turn(seconds: float, unloads: float) -> tuple[float, float]:
    """The chance that an unload comes too late to begin with those under way (``endpoint/hosting/turns.py``), and the
    most seconds that it then waits for them: it comes at any time of their rest.

    Args:
        seconds: that one takes.
        unloads: a second.
    """
    longest = max(0.0, min(seconds, JOIN_SECONDS + END_SECONDS) - JOIN_SECONDS)
    return unloads * longest / (1 + unloads * (JOIN_SECONDS + longest)), longest


def _variation(demand: Demand) -> float:
    """Squared coefficient of variation of the time of an answer."""
    return float(demand.answer_seconds.var() / demand.answer_seconds.mean() ** 2)


def _overload(work: Workload, use: _Use, host: Host, slow: float) -> str:
    cores = use.requests + use.loads
    if use.requests >= _CROWDED * host.cores:
        return f"answers alone would take {use.requests:.1f} of {host.cores} cores of an instance"
    if cores >= _CROWDED * host.cores:
        return (
            f"it thrashes: loads would take {use.loads:.1f} and answers {use.requests:.1f} of {host.cores} cores of an "
            "instance"
        )
    if use.disk >= _CROWDED:
        return f"it thrashes: the disk of an instance would have to be {use.disk:.1f} times as fast"
    if use.turns >= _CROWDED:
        return f"it thrashes: {use.turns * most_loads(host.cores):.0f} loads at a time, and an instance begins no more"
    if use.memory >= _CROWDED:
        return "it thrashes: all memory would be taken by models that are being loaded"
    busiest = float((work.rates * work.of("mean_seconds") * slow / work.of("lanes")).max())
    if busiest >= _CROWDED:
        return f"the model asked most often would be busy {busiest:.2f} times the time there is, on one instance"
    return ""
