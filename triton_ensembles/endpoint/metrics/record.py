"""Records everything that happens on the platform, for Prometheus, CloudWatch and the status page."""

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from statistics import quantiles

from triton_ensembles.endpoint.metrics.minutes import MinuteStatistics
from triton_ensembles.endpoint.metrics.prometheus import Prometheus
from triton_ensembles.sagemaker.metric_names import LOCAL, METRICS

_KEPT = 1000  # latest values of one model, for percentiles
_TIMED = ("ModelLatency", "OverheadLatency", "ModelLoadingWaitTime")


@dataclass
class Call:
    """The facts of one InvokeEndpoint when it ends. ``started`` is a time of time.perf_counter()."""

    started: float
    endpoint: str = ""
    variant: str = ""
    target_model: str = ""
    instances: int = 1
    model_status: int = 0  # the container's HTTP status; 0 when it was not called or did not answer
    model_seconds: float | None = None
    failed: bool = False  # the container gave no answer


def percentiles(microseconds: Iterable[float]) -> tuple[float, float, float]:
    """The 50th, 90th and 99th of one value or more, in milliseconds, interpolated between neighbors."""
    values = list(microseconds)
    cuts = quantiles(values, n=100, method="inclusive") if len(values) > 1 else values * 99
    return cuts[49] / 1000, cuts[89] / 1000, cuts[98] / 1000


class Metrics:
    """Counts and times of all endpoints."""

    def __init__(self) -> None:
        self.prometheus = Prometheus()
        self.minutes = MinuteStatistics()
        self._latest: dict[tuple[str, str, str, str], deque[float]] = {}  # microseconds

    def invocation(self, call: Call, seconds: float) -> None:
        """Record a call of InvokeEndpoint that took ``seconds``."""
        # Only a TargetModel that the container has answered for gets a series: clients may send any name.
        where = (call.endpoint, call.variant, call.target_model if call.model_status else "")
        self.record("Invocations", 1, *where)
        self.record("InvocationsPerInstance", 1 / call.instances, call.endpoint, call.variant)
        if 400 <= call.model_status < 500:
            self.record("Invocation4XXErrors", 1, *where)
        if call.model_status >= 500 or call.failed:
            self.record("Invocation5XXErrors", 1, *where)
        is_error = call.failed or (call.model_status and not 200 <= call.model_status < 300)
        self.record("InvocationModelErrors", 1 if is_error else 0, *where)
        if call.model_seconds is not None:
            self.record("OverheadLatency", max(0.0, seconds - call.model_seconds) * 1e6, *where)

    def record(
        self, name: str, value: float, endpoint: str, variant: str, target_model: str = "", instance: str = ""
    ) -> None:
        """Record a value of a metric of names.METRICS, in its unit; "" where a label does not apply."""
        self.prometheus.record(name, value, endpoint, variant, target_model, instance)
        metric = METRICS[name]
        if metric.namespace != LOCAL:
            dimensions = (("EndpointName", endpoint), ("VariantName", variant))
            self.minutes.add(metric.namespace, name, metric.unit, value, dimensions)
        if name in _TIMED:
            self._latest.setdefault((endpoint, variant, target_model, name), deque(maxlen=_KEPT)).append(value)

    def latest(self, endpoint: str, variant: str, target_model: str, name: str) -> Collection[float]:
        """The latest values of a time, in microseconds."""
        return self._latest.get((endpoint, variant, target_model, name), ())

    def forget_endpoint(self, endpoint: str) -> None:
        """Drop what is known of an endpoint that is deleted, but for CloudWatch's minutes."""
        self.prometheus.keep(endpoint, (), ())
        self._latest = {key: values for key, values in self._latest.items() if key[0] != endpoint}
