"""The result of a simulation (latencies, cold requests, resources), and the goal that it has to meet."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Latency:
    """Seconds from a request's arrival at the endpoint to its answer."""

    p50: float
    p95: float
    p99: float


Range = tuple[float, float]  # from the 10th to the 90th percentile


@dataclass(frozen=True)
class Ranges:
    """The ranges of four in five measurements of so many ``requests``: the share of cold ones, and the p50, p95 and p99
    of requests whose model is loaded and of all; () where there are no latencies."""

    requests: int
    cold: Range
    warm: tuple[Range, ...]
    every: tuple[Range, ...]


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
    ranges: Ranges


@dataclass(frozen=True)
class Goal:
    """The limits that a choice has to keep.

    Args:
        p99: seconds, of the requests whose model is loaded; None: any.
        cold: share of requests that find their model not loaded; None: any.
    """

    p99: float | None = None
    cold: float | None = None

    def met(self, prediction: Prediction) -> bool:
        """Return whether the instances keep up, within these limits."""
        if prediction.overload:
            return False
        fast = self.p99 is None or (prediction.warm is not None and prediction.warm.p99 <= self.p99)
        return fast and (self.cold is None or prediction.cold <= self.cold)

    def __str__(self) -> str:
        parts = []
        if self.p99 is not None:
            parts.append(f"p99 of loaded models {self.p99 * 1000:g} ms")
        if self.cold is not None:
            parts.append(f"{self.cold:.2%} cold".replace(".00%", " %").replace("%", " %").replace("  ", " "))
        return " and ".join(parts) if parts else "instances that keep up"
