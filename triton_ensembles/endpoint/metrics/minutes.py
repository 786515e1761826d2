"""Statistics by the minute, kept until CloudWatch's API is called for them."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from triton_ensembles.sagemaker.metric_names import METRICS

_MOST = 50_000  # statistics: with 20 metrics of 20 variants, two hours without a call


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
        self._sets: dict[tuple[str, str, str, int], StatisticSet] = {}

    def record(self, name: str, value: float, endpoint: str, variant: str) -> None:
        """Add a value to those of the present minute."""
        key = (name, endpoint, variant, int(time.time()) // 60)
        if statistics := self._sets.get(key):
            statistics.add(value)
            return
        if len(self._sets) >= _MOST:
            self._sets.pop(next(iter(self._sets)))  # the oldest
        self._sets[key] = StatisticSet(value, value, value)

    def take(self) -> dict[str, list[dict[str, Any]]]:
        """Everything recorded since the last call: MetricData of PutMetricData, by Namespace."""
        taken: dict[str, list[dict[str, Any]]] = {}
        for (name, endpoint, variant, minute), statistics in self._sets.items():
            metric = METRICS[name]
            datum = {
                "MetricName": name,
                "Dimensions": [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}],
                "Timestamp": datetime.fromtimestamp(minute * 60, UTC),
                "Unit": metric.unit,
                "StatisticValues": {
                    "Minimum": statistics.minimum,
                    "Maximum": statistics.maximum,
                    "Sum": statistics.total,
                    "SampleCount": statistics.count,
                },
            }
            taken.setdefault(metric.namespace, []).append(datum)
        self._sets.clear()
        return taken
