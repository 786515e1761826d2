"""Target tracking: how many instances keep a metric at its target.

As AWS describes it, two alarms on values of one minute decide: the instances are too few when the last three values are
above the target, and too many when the last fifteen are below 90 % of it. Minutes without a value decide nothing.
https://docs.aws.amazon.com/autoscaling/application/userguide/application-auto-scaling-target-tracking.html
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OUT_MINUTES, IN_MINUTES = 3, 15
_ENOUGH = 0.9  # of the target
_COOLDOWN = 300  # seconds, where the policy has none: the default for SageMaker's variants
PREDEFINED = {  # the metric and the statistic of each
    "SageMakerVariantInvocationsPerInstance": ("InvocationsPerInstance", "Sum"),
    "SageMakerVariantConcurrentRequestsPerModelHighResolution": ("ConcurrentRequestsPerModel", "Maximum"),
}


@dataclass(frozen=True)
class TargetTracking:
    """A policy of the type TargetTrackingScaling. Cooldowns in seconds."""

    name: str
    metric: Mapping[str, Any]  # a CustomizedMetricSpecification
    target: float
    out_cooldown: float
    in_cooldown: float
    may_scale_in: bool

    def instances(self, count: int, minutes: Sequence[float | None]) -> int:
        """The number of instances for the values of the last minutes, the newest last; ``count`` where all is well."""
        latest = [value for value in minutes[-OUT_MINUTES:] if value is not None]
        if len(latest) == OUT_MINUTES and min(latest) > self.target:
            return max(count + 1, math.ceil(count * latest[-1] / self.target))
        lasting = [value for value in minutes[-IN_MINUTES:] if value is not None]
        if self.may_scale_in and len(lasting) == IN_MINUTES and max(lasting) < self.target * _ENOUGH:
            return min(count, max(1, math.ceil(count * max(lasting) / self.target)))
        return count


@dataclass(frozen=True)
class Proposal:
    """The number of instances that a policy wants, when ``cooldown`` seconds have passed since the last change."""

    count: int
    cause: str
    cooldown: float

    def allowed(self, count: int, since: float, suspended: Mapping[str, bool]) -> bool:
        """Return whether the proposal may change the present ``count``, ``since`` seconds after the last change."""
        direction = "DynamicScalingOutSuspended" if self.count > count else "DynamicScalingInSuspended"
        return since >= self.cooldown and not suspended.get(direction, False)


def chosen(proposals: Sequence[Proposal], count: int, since: float, suspended: Mapping[str, bool]) -> Proposal | None:
    """The proposal with the most instances. All policies must agree to have fewer than ``count``."""
    changes = [proposal for proposal in proposals if proposal.count != count]
    changes = [proposal for proposal in changes if proposal.allowed(count, since, suspended)]
    more = [proposal for proposal in changes if proposal.count > count]
    fewer = changes if len(changes) == len(proposals) else []
    return max(more or fewer, key=lambda proposal: proposal.count, default=None)


def read_policy(policy: Mapping[str, Any], endpoint: str, variant: str) -> TargetTracking:
    """A policy of DescribeScalingPolicies or PutScalingPolicy."""
    settings = policy["TargetTrackingScalingPolicyConfiguration"]
    metric = settings.get("CustomizedMetricSpecification")
    if not metric:
        name, statistic = PREDEFINED[settings["PredefinedMetricSpecification"]["PredefinedMetricType"]]
        dimensions = [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}]
        metric = {"Namespace": "AWS/SageMaker", "MetricName": name, "Dimensions": dimensions, "Statistic": statistic}
    return TargetTracking(
        name=policy["PolicyName"],
        metric=metric,
        target=settings["TargetValue"],
        out_cooldown=settings.get("ScaleOutCooldown", _COOLDOWN),
        in_cooldown=settings.get("ScaleInCooldown", _COOLDOWN),
        may_scale_in=not settings.get("DisableScaleIn", False),
    )
