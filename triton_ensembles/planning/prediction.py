"""What an engine predicts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Latency:
    """Seconds from a request's arrival at the endpoint to its answer."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Prediction:
    """What a number of instances does with a traffic. Without an end of the queue there are no latencies.

    Attributes:
        requests_per_second: of the traffic.
        cold: share of requests that find their model not loaded: 1 less CloudWatch's ModelCacheHit.
        loads: share of requests that begin a load; the other cold ones wait for one that runs.
        fetches: share of requests whose model has to be downloaded and unpacked before.
        loads_per_second: of all instances.
        loads_possible: loads a second for which the busiest instance's cores and disk have time, over all instances.
        resident: models loaded on average, over all instances.
        memory_bytes: in use on average, over all instances.
        cores: in use on average, over all instances; with more demanded than there are, what is demanded.
        busiest: of the instance with the most to do, the share of its cores, disk or turns for loads that is in use.
        warm: latency of requests whose model is loaded; None where the queue has no end.
        every: latency of all requests.
        overload: why the queue has no end, as a sentence; "".
        not_ready: share of requests that are refused (ModelNotReadyException) after 60 s.
    """

    requests_per_second: float
    cold: float
    loads: float
    fetches: float
    loads_per_second: float
    loads_possible: float
    resident: float
    memory_bytes: float
    cores: float
    busiest: float
    warm: Latency | None
    every: Latency | None
    overload: str = ""
    not_ready: float = 0.0
