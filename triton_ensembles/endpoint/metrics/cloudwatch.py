"""Statistics per minute, as CloudWatch keeps them, until CloudWatch's API is asked for them."""

import time
from datetime import UTC, datetime
from typing import Any

from triton_ensembles.endpoint.metrics.names import METRICS

_MOST = 50_000  # sets of statistics: with 20 metrics of 20 variants, two hours in which nobody asked


class MinuteStatistics:
    """One StatisticSet for each metric, variant and minute."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, str, str, int], dict[str, float]] = {}

    def record(self, name: str, value: float, endpoint: str, variant: str) -> None:
        """Add a value to the statistics of the present minute."""
        key = (name, endpoint, variant, int(time.time()) // 60)
        found = self._sets.get(key)
        if found is None:
            if len(self._sets) >= _MOST:
                self._sets.pop(next(iter(self._sets)))  # the oldest
            self._sets[key] = {"SampleCount": 1, "Sum": value, "Minimum": value, "Maximum": value}
            return
        found["SampleCount"] += 1
        found["Sum"] += value
        found["Minimum"] = min(found["Minimum"], value)
        found["Maximum"] = max(found["Maximum"], value)

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
                "StatisticValues": statistics,
            }
            taken.setdefault(metric.namespace, []).append(datum)
        self._sets.clear()
        return taken
