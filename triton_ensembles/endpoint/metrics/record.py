"""Everything that happens on the platform comes in here, and goes to whoever counts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_ensembles.endpoint.events import Feed
from triton_ensembles.endpoint.hosting.observer import Event, Metric, Unit
from triton_ensembles.endpoint.metrics.cloudwatch import Minutes
from triton_ensembles.endpoint.metrics.gathered import Gathered, Series
from triton_ensembles.endpoint.metrics.latency import Latencies
from triton_ensembles.endpoint.metrics.names import KINDS
from triton_ensembles.endpoint.metrics.prometheus import Prometheus

_TIMED = ("ModelLatency", "OverheadLatency", "ModelLoadingWaitTime")


@dataclass
class Call:
    """What is known of one InvokeEndpoint by the time it ends; ``started`` is a time of time.perf_counter()."""

    started: float
    endpoint: str = ""
    variant: str = ""
    target_model: str = ""
    instances: int = 1
    model_status: int = 0  # what the container answered; 0 where it was not asked or did not answer
    model_seconds: float | None = None
    failed: bool = False  # no answer came of the container


class Metrics:
    """Counts and times of all endpoints."""

    def __init__(self, feed: Feed) -> None:
        self._prometheus = Prometheus()
        self._minutes = Minutes()
        self._latencies = Latencies()
        self._gathered = Gathered(self._count)
        self._feed = feed

    @property
    def prometheus(self) -> Prometheus:
        self._gathered.flush()
        return self._prometheus

    @property
    def minutes(self) -> Minutes:
        self._gathered.flush()
        return self._minutes

    @property
    def latencies(self) -> Latencies:
        self._gathered.flush()
        return self._latencies

    def observer(self, endpoint: str) -> EndpointObserver:
        """What the hosting of one endpoint reports to."""
        return EndpointObserver(endpoint, self, self._feed)

    def invocation(self, call: Call, seconds: float) -> None:
        """A call of InvokeEndpoint has ended after ``seconds``."""
        # Whatever a client may write into TargetModel, only what the container has answered for makes a series.
        where = (call.endpoint, call.variant, call.target_model if call.model_status else "")
        self.record("Invocations", 1, *where)
        self.record("InvocationsPerInstance", 1 / call.instances, *where)
        if 400 <= call.model_status < 500:
            self.record("Invocation4XXErrors", 1, *where)
        if call.model_status >= 500 or call.failed:
            self.record("Invocation5XXErrors", 1, *where)
        if call.model_seconds is not None:
            self.record("OverheadLatency", max(0.0, seconds - call.model_seconds) * 1e6, *where)

    def record(
        self, name: str, value: float, endpoint: str, variant: str, target_model: str = "", instance: str = ""
    ) -> None:
        """One value of a metric of names.KINDS, in its unit."""
        self._gathered.add(Series(name, endpoint, variant, target_model, instance), value)

    def forget(self, endpoint: str) -> None:
        """The endpoint is gone; what was counted stays counted."""
        self.prometheus.forget(endpoint)
        self.latencies.forget(endpoint)

    def _count(self, series: Series, values: Sequence[float], minute: int) -> None:
        self._prometheus.record(series, values)
        self._minutes.record(series.name, values, series.endpoint, series.variant, minute)
        if series.name in _TIMED:
            self._latencies.record(series.endpoint, series.variant, series.target_model, series.name, values)


class EndpointObserver:
    """hosting's Observer for one endpoint."""

    def __init__(self, endpoint: str, metrics: Metrics, feed: Feed) -> None:
        self._endpoint = endpoint
        self._metrics = metrics
        self._feed = feed

    def metric(self, name: Metric, value: float, unit: Unit, dimensions: Mapping[str, str]) -> None:
        if unit != KINDS[name].unit:
            raise ValueError(f"{name} is in {KINDS[name].unit}, not in {unit}")
        self._metrics.record(
            name,
            value,
            self._endpoint,
            dimensions.get("VariantName", ""),
            dimensions.get("TargetModel", ""),
            dimensions.get("InstanceIndex", ""),
        )

    def event(self, kind: Event, text: str) -> None:
        self._feed.add(self._endpoint, kind, text)
