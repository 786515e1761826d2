"""Target tracking, against moto's Application Auto Scaling."""

from __future__ import annotations

from typing import Any

import pytest

from triton_ensembles.deploy.autoscaling import Metric, Scaling, autoscale, remove_scaling, scaling_of
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.deployment import Wish, deploy
from triton_ensembles.deploy.sagemaker_endpoint import tags_of
from triton_ensembles.errors import EnsembleError

ROLE = "arn:aws:iam::123456789012:role/some-role"


def deployed(aws: Aws, instance: str) -> None:
    deploy(aws, Wish("an-endpoint", ROLE, "an/image:1", instance, 1, "s3://some-bucket/x/"), print, 60)


def policies(aws: Aws) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = aws.scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]
    return found


def test_gpu_utilization(aws: Aws, told: list[str]) -> None:
    deployed(aws, "ml.g4dn.xlarge")
    autoscale(aws, "an-endpoint", Scaling(Metric.GPU, 60, 1, 5), told.append)
    (policy,) = policies(aws)
    assert policy["ResourceId"] == "endpoint/an-endpoint/variant/AllTraffic"
    assert policy["ScalableDimension"] == "sagemaker:variant:DesiredInstanceCount"
    assert policy["TargetTrackingScalingPolicyConfiguration"] == {
        "TargetValue": 60.0,
        "CustomizedMetricSpecification": {
            "MetricName": "GPUUtilization",
            "Namespace": "/aws/sagemaker/Endpoints",
            "Dimensions": [
                {"Name": "EndpointName", "Value": "an-endpoint"},
                {"Name": "VariantName", "Value": "AllTraffic"},
            ],
            "Statistic": "Average",
            "Unit": "Percent",
        },
        "ScaleInCooldown": 600,
        "ScaleOutCooldown": 200,
    }
    (registered,) = aws.scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert (registered["MinCapacity"], registered["MaxCapacity"]) == (1, 5)


def test_invocations_and_saying_it_again_changes_it(aws: Aws, told: list[str]) -> None:
    deployed(aws, "ml.c5.xlarge")
    autoscale(aws, "an-endpoint", Scaling(Metric.INVOCATIONS, 70, 1, 2), told.append)
    autoscale(aws, "an-endpoint", Scaling(Metric.INVOCATIONS, 90, 2, 4, 300, 30), told.append)
    (policy,) = policies(aws)
    assert policy["TargetTrackingScalingPolicyConfiguration"] == {
        "TargetValue": 90.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 30,
    }
    assert scaling_of(aws, "an-endpoint", "AllTraffic") == [
        "2 to 4 instances",
        "an-endpoint-target-tracking: SageMakerVariantInvocationsPerInstance at 90, cooldown 300 s in, 30 s out",
    ]


def test_an_instance_without_gpu_cannot_follow_it(aws: Aws, told: list[str]) -> None:
    """The metric would never come and the endpoint never scale."""
    deployed(aws, "ml.c5.xlarge")
    with pytest.raises(EnsembleError, match=r"ml\.c5\.xlarge has no GPU"):
        autoscale(aws, "an-endpoint", Scaling(Metric.GPU, 60, 1, 2), told.append)
    assert policies(aws) == []


def test_it_is_removed_with_its_policy_and_removing_it_again_is_no_error(aws: Aws, told: list[str]) -> None:
    deployed(aws, "ml.c5.xlarge")
    autoscale(aws, "an-endpoint", Scaling(Metric.INVOCATIONS, 70, 1, 2), told.append)
    arn = aws.sagemaker.describe_endpoint(EndpointName="an-endpoint")["EndpointArn"]
    assert tags_of(aws, arn)["triton-ensembles:autoscaled"] == "AllTraffic"
    assert remove_scaling(aws, "an-endpoint", "AllTraffic", told.append) == 2
    assert policies(aws) == []
    assert remove_scaling(aws, "an-endpoint", "AllTraffic", told.append) == 0


def test_an_endpoint_that_is_not_there(aws: Aws, told: list[str]) -> None:
    with pytest.raises(EnsembleError, match="not there"):
        autoscale(aws, "an-endpoint", Scaling(Metric.INVOCATIONS, 70, 1, 2), told.append)
