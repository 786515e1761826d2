"""Statistics by the minute, kept until CloudWatch's API is called for them."""

import time
from datetime import UTC, datetime
from typing import Any

_MOST = 50_000  # statistics: with 20 metrics of 20 variants, two hours without a call

Dimensions = tuple[tuple[str, str], ...]  # names and values


class MinuteStatistics:
    """Sets of statistics, one for each metric, variant and minute."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, str, str, Dimensions, int], dict[str, float]] = {}  # as StatisticValues

    def add(self, namespace: str, name: str, unit: str, value: float, dimensions: Dimensions) -> None:
        """Add a value of a metric to those of the present minute."""
        key = (namespace, name, unit, dimensions, int(time.time()) // 60)
        if key not in self._sets and len(self._sets) >= _MOST:
            self._sets.pop(next(iter(self._sets)))  # the oldest
        statistics = self._sets.setdefault(key, {"Minimum": value, "Maximum": value, "Sum": 0.0, "SampleCount": 0})
        statistics["Minimum"] = min(statistics["Minimum"], value)
        statistics["Maximum"] = max(statistics["Maximum"], value)
        statistics["Sum"] += value
        statistics["SampleCount"] += 1

    def take(self) -> dict[str, list[dict[str, Any]]]:
        """Everything recorded since the last call: MetricData of PutMetricData, by Namespace."""
        taken: dict[str, list[dict[str, Any]]] = {}
        for (namespace, name, unit, dimensions, minute), statistics in self._sets.items():
            datum = {
                "MetricName": name,
                "Dimensions": [{"Name": dimension, "Value": value} for dimension, value in dimensions],
                "Timestamp": datetime.fromtimestamp(minute * 60, UTC),
                "Unit": unit,
                "StatisticValues": statistics,
            }
            taken.setdefault(namespace, []).append(datum)
        self._sets.clear()
        return taken
