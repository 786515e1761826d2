"""The platform's own metrics for Prometheus: ``sagemaker_<CloudWatch's name>_<unit>``, one series for each model.

A hundred loaded models have twelve thousand lines. So each series knows its lines but for the values, and keeps its
text until a value comes: prometheus_client, which puts every line together at every scrape, takes ten times as long.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence

from prometheus_client.utils import floatToGoString

from triton_ensembles.endpoint.metrics.names import METRICS, CloudWatchMetric

_LABELS = ("endpoint", "variant", "target_model")
_GAUGE_LABELS = ("endpoint", "variant", "instance")
# Microseconds: from a warm identity model to a cold ensemble.
_BUCKETS = (*(step * 10**power for power in range(2, 8) for step in (1, 2, 5)), 100_000_000, 360_000_000)


class Prometheus:
    """All series of one platform."""

    def __init__(self) -> None:
        self._families = {name: _Family(name, metric) for name, metric in METRICS.items()}

    def record(self, name: str, value: float, endpoint: str, variant: str, target_model: str, instance: str) -> None:
        """One value in the metric's unit. Gauges are kept per instance, everything else per target model."""
        family = self._families[name]
        family.of((endpoint, variant, instance if family.is_gauge else target_model)).add(value)

    def forget_endpoint(self, endpoint: str) -> None:
        """Drop all series of an endpoint that is deleted."""
        for family in self._families.values():
            family.drop(labels for labels in family.series if labels[0] == endpoint)

    def forget_instance(self, endpoint: str, variant: str, instance: str) -> None:
        """Drop the gauges of an instance that is gone."""
        for family in self._families.values():
            if family.is_gauge:
                family.drop([(endpoint, variant, instance)])

    def forget_model(self, endpoint: str, variant: str, target_model: str) -> None:
        """Drop the series of a model that is no longer loaded: a model has some twenty kilobytes of them."""
        for family in self._families.values():
            if not family.is_gauge:
                family.drop([(endpoint, variant, target_model)])

    def keep(self, endpoint: str, models: Container[tuple[str, str]], instances: Container[tuple[str, str]]) -> None:
        """Drop the series of an endpoint that are of none of these (variant, target model) and (variant, instance)."""
        for family in self._families.values():
            kept = instances if family.is_gauge else models
            family.drop(labels for labels in family.series if labels[0] == endpoint and labels[1:] not in kept)

    def text(self) -> bytes:
        """The exposition."""
        return "".join(text for family in self._families.values() for text in family.texts()).encode()


_Of = tuple[str, str, str]  # the values of the labels


class _Family:
    """A metric with its series, by the values of their labels."""

    def __init__(self, name: str, metric: CloudWatchMetric) -> None:
        self.is_gauge, self.series = metric.of_instance, dict[_Of, _Series]()
        self._title, self._kind = f"sagemaker_{name}", "summary"
        if metric.of_instance:
            self._title += "" if metric.unit == "Count" else f"_{metric.unit.lower()}"
            self._kind = "gauge"
        elif metric.counts:
            self._title += "_total"
            self._kind = "counter"
        elif metric.unit == "Microseconds":
            self._title += "_microseconds"
            self._kind = "histogram"
        self._head = f"# HELP {self._title} {metric.description}\n# TYPE {self._title} {self._kind}\n"

    def of(self, labels: _Of) -> "_Series":
        if labels not in self.series:
            names = _GAUGE_LABELS if self.is_gauge else _LABELS
            given = dict(zip(names, labels, strict=True))
            if self._kind in ("gauge", "counter"):
                self.series[labels] = _Number(_line(self._title, given), adds=self._kind == "counter")
            else:
                self.series[labels] = _Spread(self._title, given, _BUCKETS if self._kind == "histogram" else ())
        return self.series[labels]

    def drop(self, gone: Iterable[_Of]) -> None:
        for labels in list(gone):
            self.series.pop(labels, None)

    def texts(self) -> Iterator[str]:
        yield self._head
        for each in self.series.values():
            yield each.text()


class _Series:
    """One series. ``text`` is that of the last value."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, value: float) -> None:
        raise NotImplementedError

    def text(self) -> str:
        if not self._text:
            self._text = "".join(self._lines())
        return self._text

    def _lines(self) -> Iterator[str]:
        raise NotImplementedError


class _Number(_Series):
    """A gauge, or a counter, which ``adds``."""

    def __init__(self, line: str, *, adds: bool) -> None:
        super().__init__()
        self._line, self._adds, self._value = line, adds, 0.0

    def add(self, value: float) -> None:
        self._value = self._value + value if self._adds else float(value)
        self._text = ""

    def _lines(self) -> Iterator[str]:
        yield f"{self._line}{self._value}\n"


class _Spread(_Series):
    """A histogram, or a summary, which has no ``bounds``: how many values there were up to each, and their sum."""

    def __init__(self, title: str, labels: dict[str, str], bounds: Sequence[float]) -> None:
        super().__init__()
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0
        limits = [*map(floatToGoString, bounds), "+Inf"] if bounds else []
        self._buckets = [_line(f"{title}_bucket", labels | {"le": limit}) for limit in limits]
        self._totals = _line(f"{title}_count", labels), _line(f"{title}_sum", labels)

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value
        self._text = ""

    def _lines(self) -> Iterator[str]:
        count = sum(self._counts)
        so_far = 0
        for line, each in zip(self._buckets, self._counts, strict=False):
            so_far += each
            yield f"{line}{so_far}.0\n"
        yield f"{self._totals[0]}{count}.0\n"
        yield f"{self._totals[1]}{self._sum}\n"


def _line(name: str, labels: dict[str, str]) -> str:
    """A line without its value."""
    given = ",".join(f'{label}="{escaped(value)}"' for label, value in sorted(labels.items()))
    return f"{name}{{{given}}} "


def escaped(value: str) -> str:
    """The value of a label."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
