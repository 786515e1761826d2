"""Auto scaling of an endpoint, with moto's Application Auto Scaling."""

from dataclasses import replace
from typing import Any

import pytest

from tests.deploy.conftest import DESIRED
from triton_ensembles.deploy.autoscaling import Metric, ScalingPolicy, autoscale_endpoint, describe_scaling
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.deployment import deploy_endpoint
from triton_ensembles.ground.errors import EnsembleError


def deployed(aws: Aws, instance: str) -> None:
    deploy_endpoint(aws, replace(DESIRED, instance=instance), print, 60)


def policies(aws: Aws) -> list[dict[str, Any]]:
    return list(aws.scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"])


def test_a_policy_on_the_utilization_of_the_gpu(aws: Aws) -> None:
    """The endpoint gets exactly the policy that AWS's documentation asks for."""
    deployed(aws, "ml.g4dn.xlarge")
    autoscale_endpoint(aws, "an-endpoint", ScalingPolicy(Metric.GPU, 60, 1, 5), print)
    (policy,) = policies(aws)
    assert policy["ResourceId"] == "endpoint/an-endpoint/variant/AllTraffic"
    assert policy["ScalableDimension"] == "sagemaker:variant:DesiredInstanceCount"
    names = {"Endpoint": "an-endpoint", "Variant": "AllTraffic"}
    assert policy["TargetTrackingScalingPolicyConfiguration"] == {
        "TargetValue": 60.0,
        "CustomizedMetricSpecification": {
            "MetricName": "GPUUtilization",
            "Namespace": "/aws/sagemaker/Endpoints",
            "Dimensions": [{"Name": f"{key}Name", "Value": value} for key, value in names.items()],
            "Statistic": "Average",
            "Unit": "Percent",
        },
        "ScaleInCooldown": 600,
        "ScaleOutCooldown": 200,
    }
    (registered,) = aws.scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert (registered["MinCapacity"], registered["MaxCapacity"]) == (1, 5)


def test_a_second_policy_replaces_the_first(aws: Aws) -> None:
    """Otherwise the endpoint would scale by the larger of the two."""
    deployed(aws, "ml.c5.xlarge")
    autoscale_endpoint(aws, "an-endpoint", ScalingPolicy(Metric.INVOCATIONS, 70, 1, 2), print)
    autoscale_endpoint(aws, "an-endpoint", ScalingPolicy(Metric.INVOCATIONS, 90, 2, 4, 300, 30), print)
    (policy,) = policies(aws)
    assert policy["TargetTrackingScalingPolicyConfiguration"] == {
        "TargetValue": 90.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 30,
    }
    assert describe_scaling(aws, "an-endpoint", "AllTraffic") == [
        "2 to 4 instances",
        "an-endpoint-target-tracking: SageMakerVariantInvocationsPerInstance at 90, cooldown 300 s in, 30 s out",
    ]


def test_a_gpu_policy_is_refused_for_an_instance_without_gpu(aws: Aws) -> None:
    """Otherwise the metric would never be reported and the endpoint never scale."""
    with pytest.raises(EnsembleError, match="does not exist; deploy it first"):
        autoscale_endpoint(aws, "an-endpoint", ScalingPolicy(Metric.INVOCATIONS, 70, 1, 2), print)
    deployed(aws, "ml.c5.xlarge")
    with pytest.raises(EnsembleError, match=r"ml\.c5\.xlarge has no GPU"):
        autoscale_endpoint(aws, "an-endpoint", ScalingPolicy(Metric.GPU, 60, 1, 2), print)
    assert policies(aws) == []
