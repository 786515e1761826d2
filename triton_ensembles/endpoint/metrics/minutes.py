"""Statistics by the minute, kept until CloudWatch's API is called for them."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

_MOST = 50_000  # statistics: with 20 metrics of 20 variants, two hours without a call

Dimensions = tuple[tuple[str, str], ...]  # names and values


@dataclass
class StatisticSet:
    """CloudWatch's StatisticValues of one value or more."""

    minimum: float
    maximum: float
    total: float
    count: int = 1

    def add(self, value: float) -> None:
        self.minimum = min(self.minimum, value)
        self.maximum = max(self.maximum, value)
        self.total += value
        self.count += 1


class MinuteStatistics:
    """One set of statistics for each metric, variant and minute."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, str, str, Dimensions, int], StatisticSet] = {}

    def add(self, namespace: str, name: str, unit: str, value: float, dimensions: Dimensions) -> None:
        """Add a value of a metric to those of the present minute."""
        key = (namespace, name, unit, dimensions, int(time.time()) // 60)
        if statistics := self._sets.get(key):
            statistics.add(value)
            return
        if len(self._sets) >= _MOST:
            self._sets.pop(next(iter(self._sets)))  # the oldest
        self._sets[key] = StatisticSet(value, value, value)

    def take(self) -> dict[str, list[dict[str, Any]]]:
        """Everything recorded since the last call: MetricData of PutMetricData, by Namespace."""
        taken: dict[str, list[dict[str, Any]]] = {}
        for (namespace, name, unit, dimensions, minute), statistics in self._sets.items():
            datum = {
                "MetricName": name,
                "Dimensions": [{"Name": dimension, "Value": value} for dimension, value in dimensions],
                "Timestamp": datetime.fromtimestamp(minute * 60, UTC),
                "Unit": unit,
                "StatisticValues": {
                    "Minimum": statistics.minimum,
                    "Maximum": statistics.maximum,
                    "Sum": statistics.total,
                    "SampleCount": statistics.count,
                },
            }
            taken.setdefault(namespace, []).append(datum)
        self._sets.clear()
        return taken
