"""The result of a simulation: latencies, cold requests, resources."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Latency:
    """Seconds from a request's arrival at the endpoint to its answer."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Prediction:
    """The behavior of a number of instances under a traffic. Where they do not keep up there are no latencies.

    Attributes:
        requests: how many were simulated.
        requests_per_second: of the traffic.
        cold: share of requests that find their model not loaded: 1 less CloudWatch's ModelCacheHit.
        loads: share of requests that begin a load; the other cold ones wait for one that runs.
        fetches: share of requests whose model has to be downloaded and unpacked before.
        loads_per_second: of all instances.
        resident: models loaded on average, over all instances.
        memory_bytes: in use on average, over all instances.
        cores: in use on average, over all instances; with more demanded than there are, what is demanded.
        warm: latency of requests whose model is loaded; None where there are none.
        every: latency of all requests.
        overload: why the instances do not keep up, as a sentence; "" where they do.
        not_ready: share of requests that are refused (ModelNotReadyException) after 60 s.
    """

    requests: int
    requests_per_second: float
    cold: float
    loads: float
    fetches: float
    loads_per_second: float
    resident: float
    memory_bytes: float
    cores: float
    warm: Latency | None
    every: Latency | None
    overload: str
    not_ready: float
