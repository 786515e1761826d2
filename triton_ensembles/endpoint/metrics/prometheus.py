"""The platform's own metrics for Prometheus: ``sagemaker_<CloudWatch's name>_<unit>``, one series for each model.

A loaded model has some twenty lines: only its latency has buckets, other times and ratios are a count and a sum.
"""

from collections.abc import Container
from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary

from triton_ensembles.sagemaker.metric_names import METRICS, CloudWatchMetric

_LABELS = ("endpoint", "variant", "target_model")
_GAUGE_LABELS = ("endpoint", "variant", "instance")
_BUCKETS = (1_000, 5_000, 25_000, 100_000, 500_000, 2_500_000)  # microseconds

_LabelValues = tuple[str, str, str]


class Prometheus:
    """All series of one platform."""

    def __init__(self) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # lines that nothing here reads
        self._registry = CollectorRegistry()
        self._metrics = {name: _made(name, metric, self._registry) for name, metric in METRICS.items()}
        self._series: dict[bool, set[_LabelValues]] = {True: set(), False: set()}  # of gauges, and of all others

    def record(self, name: str, value: float, endpoint: str, variant: str, target_model: str, instance: str) -> None:
        """Record a value in the metric's unit. Gauges are kept per instance, everything else per target model."""
        is_gauge = METRICS[name].of_instance
        labels = (endpoint, variant, instance if is_gauge else target_model)
        self._series[is_gauge].add(labels)
        series: Gauge | Counter | Summary | Histogram = self._metrics[name].labels(*labels)
        if isinstance(series, Gauge):
            series.set(value)
        elif isinstance(series, Counter):
            series.inc(value)
        else:
            series.observe(value)

    def keep(self, endpoint: str, models: Container[tuple[str, str]], instances: Container[tuple[str, str]]) -> None:
        """Drop the series of an endpoint that are of none of these (variant, target model) and (variant, instance)."""
        for of_gauges, kept in ((True, instances), (False, models)):
            for labels in list(self._series[of_gauges]):
                if labels[0] == endpoint and labels[1:] not in kept:
                    self.forget(*labels, of_gauges=of_gauges)

    def text(self) -> bytes:
        """The exposition; may be called in any thread."""
        return prometheus_client.generate_latest(self._registry)

    def forget(self, endpoint: str, variant: str, name: str, *, of_gauges: bool) -> None:
        """Drop the gauges of an instance that is gone, or the other series of a model that is no longer loaded."""
        labels = endpoint, variant, name
        self._series[of_gauges].discard(labels)
        for name, metric in self._metrics.items():
            if METRICS[name].of_instance is of_gauges:
                metric.remove(*labels)


def _made(name: str, metric: CloudWatchMetric, registry: CollectorRegistry) -> Any:
    title = f"sagemaker_{name}" + ("" if metric.unit == "Count" else f"_{metric.unit.lower()}")
    if name == "ModelLatency":
        return Histogram(title, metric.description, _LABELS, registry=registry, buckets=_BUCKETS)
    if metric.of_instance:
        return Gauge(title, metric.description, _GAUGE_LABELS, registry=registry)
    return (Counter if metric.counts else Summary)(title, metric.description, _LABELS, registry=registry)
