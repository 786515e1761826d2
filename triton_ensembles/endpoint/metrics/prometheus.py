"""Our own metrics in Prometheus's form: ``sagemaker_<CloudWatch's name>_<unit>``, one series for each model."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from triton_ensembles.endpoint.metrics.gathered import Series
from triton_ensembles.endpoint.metrics.names import KINDS

_LABELS = ("endpoint", "variant", "target_model")
_GAUGES = {"LoadedModelCount", "MemoryUtilization", "DiskUtilization"}
_GAUGE_LABELS = ("endpoint", "variant", "instance")
# Microseconds: from a warm identity model to a cold ensemble.
_BUCKETS = (*(step * 10**power for power in range(2, 8) for step in (1, 2, 5)), 100_000_000, 360_000_000)
_BOUNDS = [*map(floatToGoString, _BUCKETS), "+Inf"]


class _Values:
    """What has come of one series."""

    def __init__(self) -> None:
        self.count = 0
        self.total = self.last = 0.0
        self.by_bucket = [0] * len(_BOUNDS)

    def add(self, values: Sequence[float], timed: bool) -> None:
        self.count += len(values)
        self.total += sum(values)
        self.last = values[-1]
        for value in values if timed else ():
            self.by_bucket[bisect_left(_BUCKETS, value)] += 1


class Prometheus(Collector):
    """All series of one platform."""

    def __init__(self) -> None:
        self._held: dict[str, dict[tuple[str, str, str], _Values]] = {name: {} for name in KINDS}
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def record(self, series: Series, values: Sequence[float]) -> None:
        """Values of one series, in its unit."""
        held = self._held[series.name]
        labels = series.endpoint, series.variant, series.instance if series.name in _GAUGES else series.target_model
        if labels not in held:
            held[labels] = _Values()
        held[labels].add(values, timed=KINDS[series.name].unit == "Microseconds")

    def forget(self, endpoint: str) -> None:
        """The endpoint is gone: how full its instances are is no longer a fact."""
        for name in _GAUGES:
            self._held[name] = {labels: each for labels, each in self._held[name].items() if labels[0] != endpoint}

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        for name, held in self._held.items():
            yield _family(name, held)


def _family(name: str, held: dict[tuple[str, str, str], _Values]) -> Metric:
    kind, title = KINDS[name], f"sagemaker_{name}"
    if name in _GAUGES:
        unit = "" if kind.unit == "Count" else f"_{kind.unit.lower()}"
        gauge = GaugeMetricFamily(title + unit, kind.about, labels=_GAUGE_LABELS)
        for labels, each in held.items():
            gauge.add_metric(labels, each.last)
        return gauge
    if kind.counts:
        counter = CounterMetricFamily(title, kind.about, labels=_LABELS)
        for labels, each in held.items():
            counter.add_metric(labels, each.total)
        return counter
    if kind.unit == "Microseconds":
        histogram = HistogramMetricFamily(f"{title}_microseconds", kind.about, labels=_LABELS)
        for labels, each in held.items():
            buckets = list(zip(_BOUNDS, accumulate(each.by_bucket), strict=True))
            histogram.add_metric(labels, buckets, each.total)
        return histogram
    summary = SummaryMetricFamily(title, kind.about, labels=_LABELS)
    for labels, each in held.items():
        summary.add_metric(labels, each.count, each.total)
    return summary
