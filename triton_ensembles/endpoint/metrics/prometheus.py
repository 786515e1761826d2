"""The platform's own metrics for Prometheus: ``sagemaker_<CloudWatch's name>_<unit>``, one series for each model."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Summary,
    disable_created_metrics,
    generate_latest,
)

from triton_ensembles.endpoint.metrics.names import METRICS

_LABELS = ("endpoint", "variant", "target_model")
_GAUGES = ("LoadedModelCount", "MemoryUtilization", "DiskUtilization")
_GAUGE_LABELS = ("endpoint", "variant", "instance")
# Microseconds: from a warm identity model to a cold ensemble.
_BUCKETS = (*(step * 10**power for power in range(2, 8) for step in (1, 2, 5)), 100_000_000, 360_000_000)

# The time at which each series began would double the page.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Prometheus:
    """All series of one platform."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._metrics = {name: _metric(name, self._registry) for name in METRICS}

    def record(self, name: str, value: float, endpoint: str, variant: str, target_model: str, instance: str) -> None:
        """One value in the metric's unit. Gauges are kept per instance, everything else per target model."""
        series = self._metrics[name].labels(endpoint, variant, instance if name in _GAUGES else target_model)
        match series:
            case Gauge():
                series.set(value)
            case Counter():
                series.inc(value)
            case Histogram() | Summary():
                series.observe(value)

    def forget(self, endpoint: str) -> None:
        """Drop the gauges of a deleted endpoint; what was counted stays."""
        for name in _GAUGES:
            self._metrics[name].remove_by_labels({"endpoint": endpoint})

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self._registry)


def _metric(name: str, registry: CollectorRegistry) -> Counter | Gauge | Histogram | Summary:
    metric, title = METRICS[name], f"sagemaker_{name}"
    if name in _GAUGES:
        unit = "" if metric.unit == "Count" else f"_{metric.unit.lower()}"
        return Gauge(title + unit, metric.description, _GAUGE_LABELS, registry=registry)
    if metric.counts:
        return Counter(title, metric.description, _LABELS, registry=registry)
    if metric.unit == "Microseconds":
        return Histogram(f"{title}_microseconds", metric.description, _LABELS, registry=registry, buckets=_BUCKETS)
    return Summary(title, metric.description, _LABELS, registry=registry)
