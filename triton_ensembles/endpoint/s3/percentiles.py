"""CloudWatch's percentiles, which moto does not compute: ExtendedStatistics, and "p99" as a Stat of GetMetricData.

moto keeps each value of PutMetricData as often as it is counted. Here the values and counts of one call stay one datum,
and a datum belongs to the minute in which it was measured: moto's periods begin with the first one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from moto.cloudwatch import models, responses
from moto.cloudwatch.exceptions import InvalidParameterCombination, InvalidParameterValue
from moto.core.utils import utcnow

_PERCENTILE = re.compile(r"p(\d{1,2}(\.\d{1,10})?|100)")
_PLAIN = {"Sum", "Average", "Minimum", "Maximum", "SampleCount"}
_Statistics: Any = models.Statistics


class Distribution(models.MetricAggregatedDatum):  # type: ignore[misc]
    """Values, each with the number of times that it occurred."""

    def __init__(self, namespace: str, datum: dict[str, Any]) -> None:
        values = [float(value) for value in datum["Values"]]
        counts = [float(count) for count in datum.get("Counts") or [1] * len(values)]
        self.counted = list(zip(values, counts, strict=True))
        super().__init__(
            namespace,
            datum["MetricName"],
            min(values),
            max(values),
            sum(counts),
            sum(value * count for value, count in self.counted),
            datum.get("Dimensions") or [],
            datum.get("Timestamp"),
            datum.get("Unit"),
        )


class Statistics(_Statistics):  # type: ignore[misc]
    """moto's statistics of one period, with percentiles."""

    @property
    def extended_statistics(self) -> dict[str, float] | None:
        names = [name for name in self.stats if name not in _PLAIN]
        return {name: found for name in names if (found := self.percentile(name)) is not None} or None

    def get_statistics_for_type(self, stat: str) -> Any:
        return super().get_statistics_for_type(stat) if stat in _PLAIN else self.percentile(stat)

    def percentile(self, name: str) -> float | None:
        """None where a datum is a set of statistics only, as CloudWatch has no percentile of those."""
        _check(name)
        counted: list[tuple[float, float]] = [(value, 1) for value in self.metric_single_values_list]
        for datum in self.metric_aggregated_list:
            if not isinstance(datum, Distribution):
                return None
            counted += datum.counted
        return nearest_rank(counted, float(name[1:]) / 100)


def _of_minute(datum: dict[str, Any]) -> dict[str, Any]:
    when = datum.get("Timestamp") or utcnow()
    return datum | {"Timestamp": when.replace(second=0, microsecond=0)}


def _check(name: str) -> None:
    if not _PERCENTILE.fullmatch(name):
        raise InvalidParameterValue(f"The value {name} for parameter ExtendedStatistics is not supported.")


def nearest_rank(counted: Iterable[tuple[float, float]], share: float) -> float | None:
    """The smallest value that is at least as large as ``share`` of all; None where there is no value."""
    ordered = sorted(counted)
    wanted = share * sum(count for _, count in ordered)
    seen = 0.0
    for value, count in ordered:
        seen += count
        if seen >= wanted:
            return value
    return ordered[-1][0] if ordered else None


def install() -> None:
    """Make moto use these classes in this process."""
    models.Statistics = Statistics
    put = models.CloudWatchBackend.put_metric_data
    get = responses.CloudWatchResponse.get_metric_statistics

    def put_metric_data(self: Any, namespace: str, metric_data: list[dict[str, Any]]) -> None:
        for number, datum in enumerate(metric_data, 1):
            self._validate_parameters_put_metric_data(datum, number)
        data = [datum if datum.get("StorageResolution") == 1 else _of_minute(datum) for datum in metric_data]
        self.metric_data += [Distribution(namespace, datum) for datum in data if datum.get("Values")]
        put(self, namespace, [datum for datum in data if not datum.get("Values")])

    def get_metric_statistics(self: Any) -> Any:
        names = self._get_param("ExtendedStatistics") or []
        if names and self._get_param("Statistics"):
            raise InvalidParameterCombination("Specify either Statistics or ExtendedStatistics, not both")
        for name in names:
            _check(name)
        found = get(self)
        for point in found.result["Datapoints"]:
            point.stats = [*point.stats, *names]
        return found

    models.CloudWatchBackend.put_metric_data = put_metric_data
    responses.CloudWatchResponse.get_metric_statistics = get_metric_statistics
