"""The platform's own metrics for Prometheus: ``sagemaker_<CloudWatch's name>_<unit>``, one series for each model."""

from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Summary,
    disable_created_metrics,
    generate_latest,
)

from triton_ensembles.endpoint.metrics.names import INSTANCES, LOCAL, METRICS, CloudWatchMetric

_LABELS = ("endpoint", "variant", "target_model")
_GAUGES = (INSTANCES, LOCAL)  # the namespaces of what describes the present state of an instance
_GAUGE_LABELS = ("endpoint", "variant", "instance")
# Microseconds: from a warm identity model to a cold ensemble.
_BUCKETS = (*(step * 10**power for power in range(2, 8) for step in (1, 2, 5)), 100_000_000, 360_000_000)

# The time at which each series began would double the page.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Prometheus:
    """All series of one platform."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._series: dict[str, Any] = {name: _series(name, metric, self._registry) for name, metric in METRICS.items()}

    def record(self, name: str, value: float, endpoint: str, variant: str, target_model: str, instance: str) -> None:
        """One value in the metric's unit. Gauges are kept per instance, everything else per target model."""
        series, metric = self._series[name], METRICS[name]  # isinstance is slow with prometheus_client's classes
        if metric.counts:
            series.labels(endpoint, variant, target_model).inc(value)
        elif metric.namespace in _GAUGES:
            series.labels(endpoint, variant, instance).set(value)
        else:
            series.labels(endpoint, variant, target_model).observe(value)

    def forget(self, **labels: str) -> None:
        """Drop the gauges with these labels, of a deleted endpoint or instance; what was counted stays."""
        for series in self._series.values():
            if isinstance(series, Gauge):
                series.remove_by_labels(labels)

    def forget_model(self, endpoint: str, variant: str, target_model: str) -> None:
        """Drop the series of a model that is no longer loaded: a model has some twenty kilobytes of them."""
        labels = {"endpoint": endpoint, "variant": variant, "target_model": target_model}
        for series in self._series.values():
            if not isinstance(series, Gauge):
                series.remove_by_labels(labels)

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self._registry)


def _series(name: str, metric: CloudWatchMetric, registry: CollectorRegistry) -> Counter | Gauge | Histogram | Summary:
    title, about = f"sagemaker_{name}", metric.description
    if metric.namespace in _GAUGES:
        unit = "" if metric.unit == "Count" else f"_{metric.unit.lower()}"
        return Gauge(title + unit, about, _GAUGE_LABELS, registry=registry)
    if metric.counts:
        return Counter(title, about, _LABELS, registry=registry)
    if metric.unit == "Microseconds":
        return Histogram(f"{title}_microseconds", about, _LABELS, registry=registry, buckets=_BUCKETS)
    return Summary(title, about, _LABELS, registry=registry)
