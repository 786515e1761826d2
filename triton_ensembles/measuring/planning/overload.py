"""Why instances do not keep up with their traffic, as a sentence."""

from dataclasses import dataclass

from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.planning.workload import Workload

_ALL = 0.98  # of what there is
_REFUSED = 0.005  # of the requests: with more of them refused, the instances do not keep up
_BACKLOG = 0.02  # of the requests: with more of them unanswered in the end than in the middle, the queue has no end
_FEW = 50


def answer_load(work: Workload, host: Host, count: int) -> tuple[float, float]:
    """The cores that the answers take, as a share of those of all instances, and the time of the busiest model, as a
    share of what there is on one instance. With more than 1 of either, there is no keeping up."""
    cores = float((work.rates * work.of("answer_core_seconds")).sum())
    model = float((work.rates * work.of("mean_seconds") / work.of("lanes")).max())
    return cores / (count * host.cores), model


@dataclass(frozen=True)
class Pressure:
    """The figures of a simulation that tell whether instances keep up.

    Attributes:
        requests: how many were simulated.
        backlog: requests under way when half of them had come, and at the end.
        not_ready: share of the requests that were refused.
        cores: in use, on the busiest instance; of these, ``load_cores`` for fetches and loads.
        disk: share of the time that the disk reads and writes, on the instance with the most.
    """

    requests: int
    backlog: tuple[int, int]
    not_ready: float
    cores: float
    load_cores: float
    disk: float


def overload(work: Workload, host: Host, count: int, pressure: Pressure) -> str:
    """Return why the queue has no end, requests are refused, or an instance has no time left; "" where all keep up."""
    answers, model = answer_load(work, host, count)
    if answers >= _ALL:
        return f"answers alone would take {answers * host.cores:.1f} of {host.cores} cores of an instance"
    if model >= _ALL:
        return f"the model requested most often would be busy {model:.2f} times the time there is, on one instance"
    if pressure.cores >= _ALL * host.cores:
        loads = f"loads take {pressure.load_cores:.1f} of {host.cores} cores of an instance"
        return f"it thrashes: {loads}, answers the others"
    if pressure.disk >= _ALL:
        return "it thrashes: the disk of an instance has no time for more loads"
    if pressure.not_ready > _REFUSED:
        refused = f"{pressure.not_ready:.1%}".replace("%", " %")
        return f"{refused} of the requests wait for their model until they are refused (ModelNotReadyException)"
    middle, end = pressure.backlog
    if end > _BACKLOG * pressure.requests + _FEW and end > 1.2 * middle:
        return f"{end} requests were under way at the end, and ever more before"
    return ""
