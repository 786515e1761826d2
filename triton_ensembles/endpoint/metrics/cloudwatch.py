"""Values by the minute, as CloudWatch keeps them, until CloudWatch's API is asked for them."""

import math
import time
from datetime import UTC, datetime
from typing import Any

from triton_ensembles.endpoint.metrics.names import METRICS

_MOST = 50_000  # distributions: with 20 metrics of 20 variants, two hours in which nobody asked
_RATIO = math.log(1.05)  # of a bucket's bounds: a percentile is 5 % off at most, and 6 decades take 300 buckets


class Distribution:
    """Values counted in buckets, each of which keeps its sum. The extremes are exact, as are sum and count of all."""

    def __init__(self, value: float) -> None:
        self._minimum = self._maximum = value
        self._buckets: dict[int | None, tuple[int, float]] = {_bucket(value): (1, value)}

    def add(self, value: float) -> None:
        self._minimum, self._maximum = min(self._minimum, value), max(self._maximum, value)
        count, total = self._buckets.get(_bucket(value), (0, 0.0))
        self._buckets[_bucket(value)] = count + 1, total + value

    def counted(self) -> dict[str, list[float]]:
        """Values and Counts of PutMetricData: both extremes, and of the rest of each bucket the mean."""
        rest = dict(self._buckets)
        found: list[tuple[float, int]] = []
        for extreme in (self._minimum, self._maximum):
            count, total = rest[_bucket(extreme)]
            if count:  # otherwise the only value is both extremes
                rest[_bucket(extreme)] = count - 1, total - extreme
                found.append((extreme, 1))
        for count, total in rest.values():
            if count:
                found.append((min(max(total / count, self._minimum), self._maximum), count))
        return {"Values": [value for value, _ in found], "Counts": [count for _, count in found]}


class MinuteStatistics:
    """One distribution for each metric, variant and minute."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, str, str, int], Distribution] = {}

    def record(self, name: str, value: float, endpoint: str, variant: str) -> None:
        """Add a value to those of the present minute."""
        key = (name, endpoint, variant, int(time.time()) // 60)
        if found := self._sets.get(key):
            found.add(value)
            return
        if len(self._sets) >= _MOST:
            self._sets.pop(next(iter(self._sets)))  # the oldest
        self._sets[key] = Distribution(value)

    def take(self) -> dict[str, list[dict[str, Any]]]:
        """Everything recorded since the last call: MetricData of PutMetricData, by Namespace."""
        taken: dict[str, list[dict[str, Any]]] = {}
        for (name, endpoint, variant, minute), distribution in self._sets.items():
            metric = METRICS[name]
            datum = {
                "MetricName": name,
                "Dimensions": [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}],
                "Timestamp": datetime.fromtimestamp(minute * 60, UTC),
                "Unit": metric.unit,
                **distribution.counted(),
            }
            taken.setdefault(metric.namespace, []).append(datum)
        self._sets.clear()
        return taken


def _bucket(value: float) -> int | None:
    """The bucket of a value; None: that of 0."""
    return math.floor(math.log(value) / _RATIO) if value > 0 else None
