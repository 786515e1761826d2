"""Statistics by the minute, as CloudWatch keeps them, until somebody asks CloudWatch's API for them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from triton_ensembles.endpoint.metrics.names import KINDS

_MOST = 50_000  # sets of statistics: with 20 metrics of 20 variants, two hours that nobody asked about


@dataclass
class _Set:
    count: int = 0
    total: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def add(self, values: Sequence[float]) -> None:
        self.count += len(values)
        self.total += sum(values)
        self.least = min(self.least, *values)
        self.most = max(self.most, *values)


class Minutes:
    """Values gathered into one StatisticSet for each metric, variant and minute."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, str, str, int], _Set] = {}

    def record(
        self, name: str, values: float | Sequence[float], endpoint: str, variant: str, minute: int | None = None
    ) -> None:
        """One value or several of one minute: of this one where none is given (minutes of time.time())."""
        key = (name, endpoint, variant, int(time.time()) // 60 if minute is None else minute)
        found = self._sets.get(key)
        if found is None:
            if len(self._sets) >= _MOST:
                self._sets.pop(next(iter(self._sets)))  # the oldest
            found = self._sets[key] = _Set()
        found.add([values] if isinstance(values, int | float) else values)

    def take(self) -> dict[str, list[dict[str, Any]]]:
        """What has come since the last call: MetricData of PutMetricData by Namespace."""
        taken: dict[str, list[dict[str, Any]]] = {}
        for namespace, datum in self._data():
            taken.setdefault(namespace, []).append(datum)
        self._sets.clear()
        return taken

    def _data(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for (name, endpoint, variant, minute), values in self._sets.items():
            kind = KINDS[name]
            yield (
                kind.namespace,
                {
                    "MetricName": name,
                    "Dimensions": [
                        {"Name": "EndpointName", "Value": endpoint},
                        {"Name": "VariantName", "Value": variant},
                    ],
                    "Timestamp": datetime.fromtimestamp(minute * 60, UTC),
                    "Unit": kind.unit,
                    "StatisticValues": {
                        "SampleCount": values.count,
                        "Sum": values.total,
                        "Minimum": values.least,
                        "Maximum": values.most,
                    },
                },
            )
