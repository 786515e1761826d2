"""CloudWatch's metrics of an endpoint: whole minutes, summed over the last hours."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from triton_ensembles.deploy.aws import Aws
from triton_ensembles.sagemaker.metric_names import METRICS

_MOST_POINTS = 1440  # of one answer
_STATISTICS = ("Sum", "SampleCount")


@dataclass(frozen=True)
class Seen:
    """The values of one metric."""

    count: float
    total: float

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None


def seen(aws: Aws, endpoint: str, variant: str, hours: float, names: Sequence[str]) -> dict[str, Seen]:
    """The metrics of ``names`` over the last hours, in CloudWatch's units; those without values have a count of 0.

    Raises:
        ClientError: AWS's reason.
    """
    period = 60 * max(1, math.ceil(hours * 60 / _MOST_POINTS))
    end = datetime.now(UTC) + timedelta(seconds=60)
    return {
        name: _seen(aws.cloudwatch, endpoint, variant, name, end - timedelta(hours=hours), end, period)
        for name in names
    }


def _seen(cloudwatch: Any, endpoint: str, variant: str, name: str, begin: datetime, end: datetime, period: int) -> Seen:
    points = cloudwatch.get_metric_statistics(
        Namespace=METRICS[name].namespace,
        MetricName=name,
        Dimensions=[{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}],
        StartTime=begin,
        EndTime=end,
        Period=period,
        Statistics=list(_STATISTICS),
    )["Datapoints"]
    total, count = (sum(float(point[key]) for point in points) for key in _STATISTICS)
    return Seen(count, total)
