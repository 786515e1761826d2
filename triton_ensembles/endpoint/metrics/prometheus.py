"""The platform's own metrics for Prometheus: ``sagemaker_<CloudWatch's name>_<unit>``, one series for each model.

A loaded model has some twenty lines: only its latency has buckets, other times and ratios are a count and a sum.
"""

from collections.abc import Container, Iterable
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
        self._families = {name: _Family(name, metric, self._registry) for name, metric in METRICS.items()}

    def record(self, name: str, value: float, endpoint: str, variant: str, target_model: str, instance: str) -> None:
        """One value in the metric's unit. Gauges are kept per instance, everything else per target model."""
        family = self._families[name]
        family.add((endpoint, variant, instance if family.is_gauge else target_model), value)

    def forget_instance(self, endpoint: str, variant: str, instance: str) -> None:
        """Drop the gauges of an instance that is gone."""
        self._forget((endpoint, variant, instance), of_gauges=True)

    def forget_model(self, endpoint: str, variant: str, target_model: str) -> None:
        """Drop the series of a model that is no longer loaded."""
        self._forget((endpoint, variant, target_model), of_gauges=False)

    def _forget(self, labels: _LabelValues, of_gauges: bool) -> None:
        for family in self._families.values():
            if family.is_gauge is of_gauges:
                family.drop([labels])

    def keep(self, endpoint: str, models: Container[tuple[str, str]], instances: Container[tuple[str, str]]) -> None:
        """Drop the series of an endpoint that are of none of these (variant, target model) and (variant, instance)."""
        for family in self._families.values():
            kept = instances if family.is_gauge else models
            family.drop([labels for labels in family.series if labels[0] == endpoint and labels[1:] not in kept])

    def text(self) -> bytes:
        """The exposition; may be called in any thread."""
        return prometheus_client.generate_latest(self._registry)


class _Family:
    """A metric with the labels of its series."""

    def __init__(self, name: str, metric: CloudWatchMetric, registry: CollectorRegistry) -> None:
        self.is_gauge = metric.of_instance
        self.series: set[_LabelValues] = set()
        title = f"sagemaker_{name}" + ("" if metric.unit == "Count" else f"_{metric.unit.lower()}")
        kind: Any = Gauge if metric.of_instance else Counter if metric.counts else Summary
        options = {}
        if name == "ModelLatency":
            kind, options = Histogram, {"buckets": _BUCKETS}
        labels = _GAUGE_LABELS if metric.of_instance else _LABELS
        self._metric = kind(title, metric.description, labels, registry=registry, **options)

    def add(self, labels: _LabelValues, value: float) -> None:
        self.series.add(labels)
        series: Gauge | Counter | Summary | Histogram = self._metric.labels(*labels)
        if isinstance(series, Gauge):
            series.set(value)
        elif isinstance(series, Counter):
            series.inc(value)
        else:
            series.observe(value)

    def drop(self, series: Iterable[_LabelValues]) -> None:
        for labels in series:
            if labels in self.series:
                self.series.remove(labels)
                self._metric.remove(*labels)
