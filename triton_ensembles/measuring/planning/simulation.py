"""The simulation of an endpoint, request by request.

Requests come at their times; instances are chosen by ``sagemaker/routing.py``, or for hosts behind a balancer by the
hash of the model's name. Models are loaded and evicted by the rules that the local endpoint and a host share. A request
whose model is not loaded within 60 s is refused, as ModelNotReadyException; clients would send it again, which is not
simulated.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.measuring.planning.cores import ANSWER, FETCH, LOAD, NEVER, UNLOAD
from triton_ensembles.measuring.planning.demand import Floats
from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.planning.overload import Pressure, overload
from triton_ensembles.measuring.planning.prediction import Latency, Prediction, Range, Ranges
from triton_ensembles.measuring.planning.simulated_instance import Counts, SimulatedInstance
from triton_ensembles.measuring.planning.simulated_model import SimulatedModel
from triton_ensembles.measuring.planning.traffic import Recorded
from triton_ensembles.measuring.planning.workload import Workload
from triton_ensembles.sagemaker.contract import INVOKE_SECONDS
from triton_ensembles.sagemaker.model_state import ModelState
from triton_ensembles.sagemaker.routing import rank

_SEED = 20261122


def place(models: int, instances: int) -> NDArray[np.int64]:
    """The instance of each model. Models meet their instances in any order: one that is always the same."""
    order = np.random.default_rng(_SEED).permutation(models)
    placed = np.empty(models, dtype=np.int64)
    placed[order] = np.arange(models) % instances
    return placed


_POINTS = 16  # of a host on the ring: HAProxy 3.x and 2.8, BE_WEIGHT_SCALE, for hosts of weight 1


def divide(models: int, hosts: int) -> NDArray[np.int64]:
    """The host of each model by consistent hashing: hosts and names fall anywhere on a ring, and a name belongs to the
    host of the next point. So hosts have unequal shares."""
    random = np.random.default_rng(_SEED)
    points = random.random(hosts * _POINTS)
    order = np.argsort(points)
    following = np.searchsorted(points[order], random.random(models)) % len(points)
    owners: NDArray[np.int64] = order[following] % hosts
    return owners


Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
_MEASURED = 1000  # requests of a measurement that ranges are for
_LEAST_RUNS = 10  # that ranges are of
_WARM_UP = 0.1  # of the requests, which are not counted


@dataclass(frozen=True)
class Simulated:
    """The requests that are counted.

    Attributes:
        prediction: their sums.
        times: when each came, in seconds.
        cold: whether its model was not loaded.
        loads: whether it began a load; other cold ones wait for one that runs.
        seconds: until its answer; infinite for those that were refused.
    """

    prediction: Prediction
    times: Floats
    cold: Flags
    loads: Flags
    seconds: Floats


def simulate(
    work: Workload, host: Host, count: int, requests: Recorded, *, empty: bool = False, seed: int = 0
) -> Simulated:
    """Simulate the requests.

    Args:
        seed: of what each answer takes, and of what was used before.
        empty: begin as after a deploy, with nothing loaded and nothing on the disk, and count all requests. Otherwise
            begin with what the traffic's rates would have left there, and leave the first tenth uncounted.
    """
    random = np.random.default_rng(seed)
    instances = [SimulatedInstance(work.demands, work.overhead_bytes, host) for _ in range(count)]
    placed = (divide if host.by_hash else place)(len(work.rates), count)
    if not empty:
        _preload(instances, work, placed, random)
    simulation = _Run(instances, work, requests, random)
    if host.by_hash:
        simulation.owners = placed.tolist()
    first = 0 if empty else int(len(requests.times) * _WARM_UP)
    simulation.go(first)
    return _summed(simulation, work, host, first)


class _Run:
    def __init__(
        self, instances: list[SimulatedInstance], work: Workload, requests: Recorded, random: np.random.Generator
    ) -> None:
        self.instances = instances
        self.requests = requests
        self._kinds = work.kinds.tolist()
        self._demands = work.demands
        kinds = work.kinds[requests.models]
        drawn = random.random(len(kinds))
        services = np.zeros((2, len(kinds)))
        for kind, demand in enumerate(work.demands):
            places = (drawn[kinds == kind] * len(demand.answer_seconds)).astype(int)
            services[:, kinds == kind] = demand.answer_seconds[places], demand.beside_seconds[places]
        self._services, self._beside = services.tolist()
        self._cores = [demand.answer_core_seconds / demand.mean_seconds for demand in work.demands]
        self._arrived = requests.times.tolist()
        self.seconds = [NEVER] * len(kinds)
        self.cold = bytearray(len(kinds))
        self.loads = bytearray(len(kinds))
        self.before: list[Counts] = []
        self.after: list[Counts] = []
        self.backlog = (0, 0)  # in the middle and at the end
        self.owners: list[int] = []  # the instance of each model, where it is always the same

    def go(self, first: int) -> None:
        """Handle all requests, then let what is under way end."""
        arrived, models = self._arrived, self.requests.models.tolist()
        instances, many = self.instances, len(self.instances) > 1
        middle, halfway = len(arrived) // 2, 0
        for request, (now, number) in enumerate(zip(arrived, models, strict=True)):
            self._until(now)
            if request == first:
                for instance in instances:
                    instance.advance(now)
                self.before = [instance.counts() for instance in instances]
            if request == middle:
                halfway = sum(instance.in_flight for instance in instances)
            instance = self._choose(number) if many else instances[0]
            instance.advance(now)
            model = instance.find(number, self._kinds[number])
            instance.in_flight += 1
            model.in_use += 1
            if model.state is ModelState.LOADED:
                self._answer(instance, model, request)
            else:
                self.cold[request] = 1
                model.waiting.append(request)
                if not model.loading:
                    self.loads[request] = 1
                    instance.want(model)
            instance.cores.plan()
        self.backlog = halfway, sum(instance.in_flight for instance in instances)
        self.after = [instance.counts() for instance in instances]
        self._until(NEVER)

    def _choose(self, number: int) -> SimulatedInstance:
        if self.owners:
            return self.instances[self.owners[number]]

        def order(instance: SimulatedInstance) -> tuple[bool, int, int, int]:
            model = instance.models.get(number)
            return rank(True, model.state if model else None, instance.in_flight, len(instance.models))

        return min(self.instances, key=order)

    def _until(self, now: float) -> None:
        """Handle all jobs that end before ``now``."""
        instances, next_end = self.instances, attrgetter("cores.next")
        if len(instances) == 1:
            instance = instances[0]
            while instance.cores.next <= now and instance.cores.next < NEVER:
                self._end(instance)
            return
        while True:
            instance = min(instances, key=next_end)
            if instance.cores.next > now or instance.cores.next == NEVER:
                return
            self._end(instance)

    def _end(self, instance: SimulatedInstance) -> None:
        now = instance.cores.next
        instance.advance(now)
        job = instance.cores.pop()
        model = job.model
        if job.kind == ANSWER:
            self.seconds[job.request] = now - self._arrived[job.request]
            instance.in_flight -= 1
            if model.line:
                self._begin(instance, model, model.line.popleft())
            else:
                model.busy -= 1
            instance.used(model)
        elif job.kind == LOAD:
            instance.has_loaded(model)
            waiting, model.waiting = model.waiting, []
            model.is_fresh = True
            for request in waiting:
                if now - self._arrived[request] <= INVOKE_SECONDS:
                    self._answer(instance, model, request)
                else:
                    instance.in_flight -= 1
                    instance.used(model)
            instance.admit()
        elif job.kind == FETCH:
            instance.fetched(model)
        elif job.kind == UNLOAD:
            instance.has_unloaded(model)
        else:
            instance.turn()
        instance.cores.plan()

    def _answer(self, instance: SimulatedInstance, model: SimulatedModel, request: int) -> None:
        if model.busy < model.demand.lanes:
            model.busy += 1
            self._begin(instance, model, request)
        else:
            model.line.append(request)

    def _begin(self, instance: SimulatedInstance, model: SimulatedModel, request: int) -> None:
        seconds = (self._beside if instance.is_changing else self._services)[request]
        if model.is_fresh:
            model.is_fresh = False
            seconds += model.demand.first_seconds
        instance.cores.begin(ANSWER, model, seconds, seconds * self._cores[model.kind], request)


def _preload(
    instances: list[SimulatedInstance], work: Workload, placed: NDArray[np.int64], random: np.random.Generator
) -> None:
    """Fill memory and disk as the least recently used rule would have: with Poisson arrivals, the time since a model's
    last request is exponential."""
    with np.errstate(divide="ignore"):
        ages = random.exponential(1.0, len(work.rates)) / work.rates
    for number in np.argsort(ages):
        if np.isfinite(ages[number]):
            kind = int(work.kinds[number])
            model = SimulatedModel(int(number), kind, work.demands[kind])
            instances[placed[number]].preload(model, -float(ages[number]))


def _summed(run: _Run, work: Workload, host: Host, first: int) -> Simulated:
    times = run.requests.times[first:]
    cold = np.frombuffer(run.cold, dtype=np.bool_)[first:]
    loads = np.frombuffer(run.loads, dtype=np.bool_)[first:]
    seconds = np.array(run.seconds[first:])
    count, number = len(run.instances), len(times)
    duration = max(float(times[-1] - times[0]), 1e-9)
    used = np.array(run.after, dtype=float) - np.array(run.before, dtype=float)
    total, most = Counts(*used.sum(axis=0).tolist()), Counts(*used.max(axis=0).tolist())
    not_ready = float((~np.isfinite(seconds)).mean())
    busiest = (each / duration for each in (most.core_seconds, most.load_core_seconds, most.disk_seconds))
    reason = overload(work, host, count, Pressure(len(run.seconds), run.backlog, not_ready, *busiest))
    return Simulated(
        Prediction(
            requests=len(run.seconds),
            requests_per_second=(number - 1) / duration,
            cold=float(cold.mean()),
            loads=total.loads / number,
            fetches=total.fetches / number,
            loads_per_second=total.loads / duration,
            resident=total.loaded_seconds / duration,
            memory_bytes=total.byte_seconds / duration + count * work.overhead_bytes,
            cores=total.core_seconds / duration,
            warm=None if reason else _latency(seconds[~cold]),
            every=None if reason else _latency(seconds),
            overload=reason,
            not_ready=not_ready,
            ranges=_ranges(cold, seconds, keeps_up=not reason),
        ),
        times,
        cold,
        loads,
        seconds,
    )


def _ranges(cold: Flags, seconds: Floats, *, keeps_up: bool) -> Ranges:
    """Return consecutive parts, each of which is a run that begins as the one before has ended."""
    most = max(1, len(cold) // 2)
    runs = np.array_split(np.arange(len(cold)), min(max(_LEAST_RUNS, len(cold) // _MEASURED), most))
    loaded = np.where(cold, np.inf, seconds)
    (share,) = _between([(float(cold[run].mean()),) for run in runs])
    latencies = ([_latency(kind[run]) for run in runs if keeps_up] for kind in (loaded, seconds))
    percentiles = (_between([astuple(latency) for latency in kind if latency]) for kind in latencies)
    return Ranges(len(runs[-1]), share, *percentiles)


def _between(runs: Sequence[tuple[float, ...]]) -> tuple[Range, ...]:
    """The range of each figure; () without runs."""
    low, high = np.percentile(np.array(runs), (10, 90), axis=0).tolist() if runs else ((), ())
    return tuple(zip(low, high, strict=True))


def _latency(seconds: Floats) -> Latency | None:
    answered = seconds[np.isfinite(seconds)]
    if not len(answered):
        return None
    p50, p95, p99 = np.percentile(answered, (50, 95, 99)).tolist()
    return Latency(p50, p95, p99)
