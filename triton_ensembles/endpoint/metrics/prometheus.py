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
        self._gauges: dict[str, Gauge] = {}
        self._counters: dict[str, Counter] = {}
        self._distributions: dict[str, Histogram | Summary] = {}
        for name, metric in METRICS.items():
            title, about, registry = f"sagemaker_{name}", metric.description, self._registry
            if name in _GAUGES:
                unit = "" if metric.unit == "Count" else f"_{metric.unit.lower()}"
                self._gauges[name] = Gauge(title + unit, about, _GAUGE_LABELS, registry=registry)
            elif metric.counts:
                self._counters[name] = Counter(title, about, _LABELS, registry=registry)
            elif metric.unit == "Microseconds":
                title += "_microseconds"
                self._distributions[name] = Histogram(title, about, _LABELS, registry=registry, buckets=_BUCKETS)
            else:
                self._distributions[name] = Summary(title, about, _LABELS, registry=registry)

    def record(self, name: str, value: float, endpoint: str, variant: str, target_model: str, instance: str) -> None:
        """One value in the metric's unit. Gauges are kept per instance, everything else per target model."""
        if name in self._counters:
            self._counters[name].labels(endpoint, variant, target_model).inc(value)
        elif name in self._distributions:
            self._distributions[name].labels(endpoint, variant, target_model).observe(value)
        else:
            self._gauges[name].labels(endpoint, variant, instance).set(value)

    def forget(self, endpoint: str) -> None:
        """Drop the gauges of a deleted endpoint; what was counted stays."""
        for gauge in self._gauges.values():
            gauge.remove_by_labels({"endpoint": endpoint})

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self._registry)
