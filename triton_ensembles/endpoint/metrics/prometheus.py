"""Our own metrics in Prometheus's form: ``sagemaker_<CloudWatch's name>_<unit>``, one series for each model."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Summary,
    disable_created_metrics,
    generate_latest,
)

from triton_ensembles.endpoint.metrics.names import KINDS, Kind

_LABELS = ("endpoint", "variant", "target_model")
_GAUGES = {"LoadedModelCount", "MemoryUtilization", "DiskUtilization"}
_GAUGE_LABELS = ("endpoint", "variant", "instance")
# Microseconds: from a warm identity model to a cold ensemble.
_BUCKETS = (*(step * 10**power for power in range(2, 8) for step in (1, 2, 5)), 100_000_000, 360_000_000)


disable_created_metrics()  # type: ignore[no-untyped-call]  # when a counter began says nothing here


class Prometheus:
    """The registry of one platform."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._families = {name: self._family(name, kind) for name, kind in KINDS.items()}
        # By name and labels; to look a series up in the family takes ten times as long as to add to it.
        self._add: dict[tuple[str, str, str, str], Callable[[float], None]] = {}

    def record(self, name: str, value: float, endpoint: str, variant: str, target_model: str, instance: str) -> None:
        series = (name, endpoint, variant, instance if name in _GAUGES else target_model)
        add = self._add.get(series)
        if add is None:
            add = self._add[series] = _adder(self._families[name].labels(*series[1:]))
        add(value)

    def forget(self, endpoint: str) -> None:
        """The endpoint is gone: how full its instances are is no longer a fact."""
        for name in _GAUGES:
            self._families[name].remove_by_labels({"endpoint": endpoint})
        for series in [series for series in self._add if series[1] == endpoint]:
            del self._add[series]

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def _family(self, name: str, kind: Kind) -> Counter | Gauge | Histogram | Summary:
        title = f"sagemaker_{name}"
        if name in _GAUGES:
            unit = "" if kind.unit == "Count" else f"_{kind.unit.lower()}"
            return Gauge(title + unit, kind.about, _GAUGE_LABELS, registry=self._registry)
        if kind.counts:
            return Counter(title, kind.about, _LABELS, registry=self._registry)
        if kind.unit == "Microseconds":
            return Histogram(f"{title}_microseconds", kind.about, _LABELS, registry=self._registry, buckets=_BUCKETS)
        return Summary(title, kind.about, _LABELS, registry=self._registry)


def _adder(series: Counter | Gauge | Histogram | Summary) -> Callable[[float], None]:
    if isinstance(series, Gauge):
        return series.set
    return series.inc if isinstance(series, Counter) else series.observe
