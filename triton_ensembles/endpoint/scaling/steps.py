"""Step scaling: how many instances a policy wants when an alarm of CloudWatch calls it.

https://docs.aws.amazon.com/autoscaling/application/userguide/step-scaling-policy-overview.html
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_COOLDOWN = 300  # seconds, where the policy has none: the default for SageMaker's variants


@dataclass(frozen=True)
class Step:
    """An adjustment for breaches from ``lower`` up to ``upper``: what the metric is above the alarm's threshold."""

    lower: float
    upper: float
    adjustment: int

    def covers(self, breach: float) -> bool:
        # Above the threshold the lower bound belongs to the step, below it the upper bound does.
        return (
            self.lower <= breach < self.upper if breach >= 0 and self.upper > 0 else self.lower < breach <= self.upper
        )


@dataclass(frozen=True)
class StepScaling:
    """A policy of the type StepScaling.

    Attributes:
        cooldown: seconds.
        least: instances that a PercentChangeInCapacity adds or removes at least.
    """

    name: str
    arn: str
    adjustment_type: str
    steps: Sequence[Step]
    cooldown: float
    least: int

    def wanted(self, count: int, breach: float) -> int:
        """The number of instances when the metric is this much above the threshold, or below it where negative."""
        step = next((step for step in self.steps if step.covers(breach)), None)
        if step is None:
            return count
        if self.adjustment_type == "ExactCapacity":
            return step.adjustment
        if self.adjustment_type == "ChangeInCapacity":
            return count + step.adjustment
        change = count * step.adjustment / 100
        # As AWS rounds: towards 0, but what is between 0 and 1 to 1, and what is between -1 and 0 to -1.
        whole = math.trunc(change) if abs(change) >= 1 else math.copysign(math.ceil(abs(change)), change)
        return count + int(math.copysign(max(abs(whole), self.least), change)) if change else count


def read_steps(policy: Mapping[str, Any]) -> StepScaling:
    """A policy of DescribeScalingPolicies or PutScalingPolicy."""
    settings = policy["StepScalingPolicyConfiguration"]
    steps = [
        Step(
            lower=_bound(each, "MetricIntervalLowerBound", -math.inf),
            upper=_bound(each, "MetricIntervalUpperBound", math.inf),
            adjustment=each["ScalingAdjustment"],
        )
        for each in settings.get("StepAdjustments") or []
    ]
    return StepScaling(
        name=policy["PolicyName"],
        arn=policy.get("PolicyARN", ""),
        adjustment_type=settings.get("AdjustmentType", "ChangeInCapacity"),
        steps=steps,
        cooldown=settings.get("Cooldown", _COOLDOWN),
        least=settings.get("MinAdjustmentMagnitude") or 0,
    )


def fault(policy: StepScaling) -> str:
    """Why AWS would refuse the policy; "" where it would not."""
    ordered = sorted(policy.steps, key=lambda step: step.lower)
    if not ordered:
        return "At least one step adjustment must be specified"
    if any(step.lower >= step.upper for step in ordered):
        return "The lower bound of a step adjustment must be less than its upper bound"
    if any(first.upper != second.lower for first, second in itertools.pairwise(ordered)):
        return "Step adjustment intervals must neither overlap nor have a gap between them"
    return ""


def _bound(step: Mapping[str, Any], name: str, otherwise: float) -> float:
    value = step.get(name)
    return otherwise if value is None else float(value)
