"""Statistics per minute, as CloudWatch keeps them, until CloudWatch's API is asked for them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from triton_ensembles.endpoint.metrics.names import METRICS

_MOST = 50_000  # sets of statistics: with 20 metrics of 20 variants, two hours in which nobody asked


@dataclass
class _Statistics:
    count: int = 0
    total: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.least = min(self.least, value)
        self.most = max(self.most, value)


class MinuteStatistics:
    """One StatisticSet for each metric, variant and minute."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, str, str, int], _Statistics] = {}

    def record(self, name: str, value: float, endpoint: str, variant: str) -> None:
        """Add a value to the statistics of the present minute."""
        key = (name, endpoint, variant, int(time.time()) // 60)
        statistics = self._sets.get(key)
        if statistics is None:
            if len(self._sets) >= _MOST:
                self._sets.pop(next(iter(self._sets)))  # the oldest
            statistics = self._sets[key] = _Statistics()
        statistics.add(value)

    def take(self) -> dict[str, list[dict[str, Any]]]:
        """Everything recorded since the last call: MetricData of PutMetricData, by Namespace."""
        taken: dict[str, list[dict[str, Any]]] = {}
        for namespace, datum in self._data():
            taken.setdefault(namespace, []).append(datum)
        self._sets.clear()
        return taken

    def _data(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for (name, endpoint, variant, minute), statistics in self._sets.items():
            metric = METRICS[name]
            yield (
                metric.namespace,
                {
                    "MetricName": name,
                    "Dimensions": [
                        {"Name": "EndpointName", "Value": endpoint},
                        {"Name": "VariantName", "Value": variant},
                    ],
                    "Timestamp": datetime.fromtimestamp(minute * 60, UTC),
                    "Unit": metric.unit,
                    "StatisticValues": {
                        "SampleCount": statistics.count,
                        "Sum": statistics.total,
                        "Minimum": statistics.least,
                        "Maximum": statistics.most,
                    },
                },
            )
