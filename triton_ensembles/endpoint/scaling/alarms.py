"""CloudWatch's alarms that call scaling policies: moto keeps them, but never looks at their metrics.

Each period has a value or none. A period without one counts as TreatMissingData says; as long as too few periods decide
either way, the state stays.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html#alarm-evaluation
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton_ensembles.endpoint.scaling.policy import Metric

OK, ALARM, INSUFFICIENT = "OK", "ALARM", "INSUFFICIENT_DATA"
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}
_ACTIONS = {OK: "OKActions", ALARM: "AlarmActions", INSUFFICIENT: "InsufficientDataActions"}


@dataclass(frozen=True)
class Alarm:
    """An alarm on one metric.

    Attributes:
        period: seconds.
        periods: the latest ones that it looks at, of which ``enough`` must be beyond the threshold.
        state: as of the last look.
        actions: ARNs by state.
    """

    name: str
    metric: Metric
    period: int
    periods: int
    enough: int
    threshold: float
    comparison: str
    missing: str
    state: str
    actions: Mapping[str, Sequence[str]]

    def calls(self, arn: str, state: str = "") -> bool:
        """Whether it calls this policy, in any state or in ``state``. moto renames a policy that is put again."""
        chosen = (self.actions[state],) if state else self.actions.values()
        return any(_resource(each) == _resource(arn) for actions in chosen for each in actions)

    def look(self, values: Sequence[float | None]) -> str:
        """Its state for the values of the latest periods, the newest last."""
        beyond = sum(value is not None and _COMPARISONS[self.comparison](value, self.threshold) for value in values)
        missing = sum(value is None for value in values)
        if missing == len(values) and self.missing in ("missing", "ignore"):
            return INSUFFICIENT if self.missing == "missing" else self.state
        if self.missing == "breaching":
            beyond, missing = beyond + missing, 0
        elif self.missing == "notBreaching":
            missing = 0
        if beyond >= self.enough:
            return ALARM
        return self.state if beyond + missing >= self.enough else OK


def _resource(arn: str) -> str:
    return arn.partition(":resource/")[2] or arn


def read_alarm(alarm: Mapping[str, Any]) -> Alarm | None:
    """An alarm of DescribeAlarms; None where it is on something else than a statistic of one metric."""
    if not alarm.get("MetricName") or not alarm.get("Statistic") or alarm["ComparisonOperator"] not in _COMPARISONS:
        return None
    dimensions = tuple((each["Name"], each["Value"]) for each in alarm.get("Dimensions") or [])
    periods = alarm["EvaluationPeriods"]
    return Alarm(
        name=alarm["AlarmName"],
        metric=Metric(alarm["Namespace"], alarm["MetricName"], dimensions, alarm["Statistic"]),
        period=max(60, alarm["Period"]),  # values are kept by the minute
        periods=periods,
        enough=min(periods, alarm.get("DatapointsToAlarm") or periods),
        threshold=alarm["Threshold"],
        comparison=alarm["ComparisonOperator"],
        missing=alarm.get("TreatMissingData") or "missing",
        state=alarm["StateValue"],
        actions={
            state: alarm.get(name) or [] if alarm.get("ActionsEnabled", True) else []
            for state, name in _ACTIONS.items()
        },
    )
