"""What CloudWatch knows of a metric's latest periods."""

from datetime import UTC, datetime, timedelta
from typing import Any

from triton_ensembles.endpoint.scaling.policy import Metric


def latest(cloudwatch: Any, metric: Metric, period: int, periods: int) -> list[float | None]:
    """One value for each of the last whole periods of so many seconds, the newest last; None where there is none."""
    now = int(datetime.now(UTC).timestamp())
    end = datetime.fromtimestamp(now - now % period, UTC)
    begin = end - timedelta(seconds=period * periods)
    points = cloudwatch.get_metric_statistics(
        Namespace=metric.namespace,
        MetricName=metric.name,
        Dimensions=[{"Name": name, "Value": value} for name, value in metric.dimensions],
        StartTime=begin,
        EndTime=end,
        Period=period,
        Statistics=[metric.statistic],
    )["Datapoints"]
    found = {int((point["Timestamp"] - begin).total_seconds() // period): point[metric.statistic] for point in points}
    return [found.get(number) for number in range(periods)]
