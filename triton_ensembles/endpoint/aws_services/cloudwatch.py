"""Refuses what moto's CloudWatch would take without an effect: percentiles.

Expressions it answers with nothing, and a period of 0 s it never ends to count.
"""

from __future__ import annotations

from typing import Any

from moto.core.responses import BaseResponse

from triton_ensembles.endpoint.api.errors import NotSupportedLocally
from triton_ensembles.endpoint.aws_services.fault import Fault

_STATISTICS = ("Sum", "Average", "Minimum", "Maximum", "SampleCount")
_SHORT_PERIODS = (1, 5, 10, 20, 30)  # seconds; longer ones are whole minutes
_MOST_POINTS = 1440  # of one GetMetricStatistics


def install() -> None:
    """Make moto refuse it, in this process."""
    parse = BaseResponse.parse_parameters

    def parse_parameters(self: Any, request: Any) -> None:
        parse(self, request)
        if self.boto3_service_name == "cloudwatch":
            _check(self._get_action(), self.params)

    BaseResponse.parse_parameters = parse_parameters


def _check(operation: str, parameters: dict[str, Any]) -> None:
    statistics = list(parameters.get("ExtendedStatistics") or [])
    periods = [parameters["Period"]] if operation == "GetMetricStatistics" else []
    for query in parameters.get("MetricDataQueries") or []:
        if query.get("Expression") is not None:
            cure = "ask for each metric with MetricStat, and compute it from their values"
            raise NotSupportedLocally(f"the expression {query['Expression']} of GetMetricData", cure)
        if stat := query.get("MetricStat"):
            statistics.append(stat.get("Stat"))
            periods.append(stat["Period"])
    for period in periods:
        if int(period) not in _SHORT_PERIODS and (int(period) < 60 or int(period) % 60):
            message = f"The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60, and not {period}"
            raise Fault("ValidationError", message)
    if periods:  # AWS's reference of GetMetricStatistics: rounded down to the minute, or to a shorter period
        start, step = parameters["StartTime"], min(60, *map(int, periods))
        parameters["StartTime"] = start = start.replace(second=start.second // step * step, microsecond=0)
        points = int((parameters["EndTime"] - start).total_seconds() / min(map(int, periods)))
        if points > _MOST_POINTS and operation == "GetMetricStatistics":
            limit = f"which exceeds the limit of {_MOST_POINTS}. Ask for longer periods, or for less time"
            raise Fault("InvalidParameterCombination", f"You have requested up to {points} datapoints, {limit}.")
    for statistic in statistics:
        if statistic not in (None, *_STATISTICS):
            cure = f"ask for {', '.join(_STATISTICS)}; the status page has p50, p90 and p99 of each model"
            raise NotSupportedLocally(f"the statistic {statistic} of CloudWatch", cure)
