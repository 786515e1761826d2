"""A target tracking policy of Application Auto Scaling for the variant of an endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from triton_ensembles.deploy.resource_names import VARIANT

# The values of AWS's own multi-model Triton example (resnet_pytorch_python-backend): 60 %, 600 s in, 200 s out.
GPU_TARGET = 60.0
SCALE_IN_COOLDOWN, SCALE_OUT_COOLDOWN = 600, 200


class Metric(StrEnum):
    """What the policy keeps at its target."""

    GPU = "gpu"
    INVOCATIONS = "invocations"


@dataclass(frozen=True)
class ScalingPolicy:
    """Keeps ``metric`` at ``target`` with ``least`` to ``most`` instances.

    Args:
        target: percent of the GPU, on average over the instances; or invocations per minute and instance.
        scale_in_cooldown: seconds after an instance was removed before another one may be.
        scale_out_cooldown: seconds after an instance was added before another one may be.
    """

    metric: Metric
    target: float
    least: int
    most: int
    scale_in_cooldown: int = SCALE_IN_COOLDOWN
    scale_out_cooldown: int = SCALE_OUT_COOLDOWN

    def __str__(self) -> str:
        what = {
            Metric.GPU: f"GPUUtilization at {self.target:g} %",
            Metric.INVOCATIONS: f"SageMakerVariantInvocationsPerInstance at {self.target:g} per minute",
        }[self.metric]
        return (
            f"{self.least} to {self.most} instances, {what}; cooldown {self.scale_in_cooldown} s in, "
            f"{self.scale_out_cooldown} s out"
        )

    def configuration(self, endpoint: str) -> dict[str, Any]:
        """PutScalingPolicy's TargetTrackingScalingPolicyConfiguration."""
        configuration: dict[str, Any] = {
            "TargetValue": self.target,
            "ScaleInCooldown": self.scale_in_cooldown,
            "ScaleOutCooldown": self.scale_out_cooldown,
        }
        if self.metric is Metric.INVOCATIONS:
            configuration["PredefinedMetricSpecification"] = {
                "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
            }
        else:
            configuration["CustomizedMetricSpecification"] = {
                "MetricName": "GPUUtilization",
                "Namespace": "/aws/sagemaker/Endpoints",
                "Dimensions": [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": VARIANT}],
                "Statistic": "Average",
                "Unit": "Percent",
            }
        return configuration


def policy_name(endpoint: str) -> str:
    """The name of the one policy that this tool puts on an endpoint."""
    return f"{endpoint}-target-tracking"
