"""The platform's own metrics for Prometheus: ``sagemaker_<CloudWatch's name>_<unit>``, one series for each model."""

from collections.abc import Container
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

from triton_ensembles.endpoint.metrics.names import METRICS, CloudWatchMetric

_LABELS = ("endpoint", "variant", "target_model")
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
        elif metric.of_instance:
            series.labels(endpoint, variant, instance).set(value)
        else:
            series.labels(endpoint, variant, target_model).observe(value)

    def forget_endpoint(self, endpoint: str) -> None:
        """Drop all series of an endpoint that is deleted."""
        for series in self._series.values():
            series.remove_by_labels({"endpoint": endpoint})

    def forget_instance(self, endpoint: str, variant: str, instance: str) -> None:
        """Drop the gauges of an instance that is gone."""
        labels = {"endpoint": endpoint, "variant": variant, "instance": instance}
        for series in self._series.values():
            if isinstance(series, Gauge):
                series.remove_by_labels(labels)

    def forget_model(self, endpoint: str, variant: str, target_model: str) -> None:
        """Drop the series of a model that is no longer loaded: a model has some twenty kilobytes of them."""
        labels = {"endpoint": endpoint, "variant": variant, "target_model": target_model}
        for series in self._series.values():
            if not isinstance(series, Gauge):
                series.remove_by_labels(labels)

    def keep(self, endpoint: str, models: Container[tuple[str, str]], instances: Container[tuple[str, str]]) -> None:
        """Drop the series of an endpoint that are of none of these (variant, target model) and (variant, instance)."""
        for series in self._series.values():
            last, kept = ("instance", instances) if isinstance(series, Gauge) else ("target_model", models)
            found = [sample.labels for family in series.collect() for sample in family.samples]
            for variant, other in {(each["variant"], each[last]) for each in found if each["endpoint"] == endpoint}:
                if (variant, other) not in kept:
                    series.remove(endpoint, variant, other)

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self._registry)


def _series(name: str, metric: CloudWatchMetric, registry: CollectorRegistry) -> Counter | Gauge | Histogram | Summary:
    title, about = f"sagemaker_{name}", metric.description
    if metric.of_instance:
        unit = "" if metric.unit == "Count" else f"_{metric.unit.lower()}"
        return Gauge(title + unit, about, _GAUGE_LABELS, registry=registry)
    if metric.counts:
        return Counter(title, about, _LABELS, registry=registry)
    if metric.unit == "Microseconds":
        return Histogram(f"{title}_microseconds", about, _LABELS, registry=registry, buckets=_BUCKETS)
    return Summary(title, about, _LABELS, registry=registry)
