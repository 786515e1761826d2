"""The values of a metric that CloudWatch has for the latest minutes."""

from datetime import UTC, datetime, timedelta
from typing import Any

from triton_ensembles.endpoint.scaling.policy import Metric


def latest_minutes(cloudwatch: Any, metric: Metric, minutes: int) -> list[float | None]:
    """One value for each of the last whole minutes, the newest last; None where there is none."""
    end = datetime.now(UTC).replace(second=0, microsecond=0)
    begin = end - timedelta(minutes=minutes)
    dimensions = [{"Name": name, "Value": value} for name, value in metric.dimensions]
    stat = {
        "Metric": {"Namespace": metric.namespace, "MetricName": metric.name, "Dimensions": dimensions},
        "Period": 60,
        "Stat": metric.statistic,
    }
    # Of moto's two calls, the one whose periods begin with StartTime and not with the first value.
    query = {"Id": "values", "MetricStat": stat}
    (result,) = cloudwatch.get_metric_data(MetricDataQueries=[query], StartTime=begin, EndTime=end)["MetricDataResults"]
    values = {
        int((moment - begin).total_seconds() // 60): value
        for moment, value in zip(result["Timestamps"], result["Values"], strict=True)
    }
    return [values.get(minute) for minute in range(minutes)]
