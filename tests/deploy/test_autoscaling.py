"""Auto scaling of an endpoint, with moto's Application Auto Scaling."""

from dataclasses import replace
from typing import Any

from tests.commands.projects import run
from tests.deploy.conftest import DESIRED
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.deployment import deploy_endpoint

AUTOSCALE = ("autoscale", "--endpoint", "an-endpoint")


def policy(aws: Aws) -> dict[str, Any]:
    """The only one."""
    (found,) = aws.scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]
    return dict(found)


def test_a_policy_on_the_utilization_of_the_gpu(aws: Aws) -> None:
    """The endpoint gets exactly the policy that AWS's documentation asks for."""
    deploy_endpoint(aws, DESIRED, print, 60)
    run(*AUTOSCALE, "--metric", "gpu", "--max", "5")
    assert policy(aws)["ResourceId"] == "endpoint/an-endpoint/variant/AllTraffic"
    assert policy(aws)["ScalableDimension"] == "sagemaker:variant:DesiredInstanceCount"
    names = {"Endpoint": "an-endpoint", "Variant": "AllTraffic"}
    assert policy(aws)["TargetTrackingScalingPolicyConfiguration"] == {
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


def test_a_second_policy_replaces_the_first_and_one_that_could_never_scale_is_refused(aws: Aws) -> None:
    """Otherwise the endpoint would scale by the larger of the two, or by a metric that is never reported."""
    assert "does not exist; deploy it first" in run(*AUTOSCALE, "--target-value", "70").stderr
    deploy_endpoint(aws, replace(DESIRED, instance="ml.c5.xlarge"), print, 60)
    assert "ml.c5.xlarge has no GPU" in run(*AUTOSCALE, "--metric", "gpu").stderr
    run(*AUTOSCALE, "--target-value", "70")
    cooldowns = ("--scale-in-cooldown", "300", "--scale-out-cooldown", "30")
    run(*AUTOSCALE, "--target-value", "90", "--min", "2", "--max", "4", *cooldowns)
    assert policy(aws)["TargetTrackingScalingPolicyConfiguration"] == {
        "TargetValue": 90.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 30,
    }
    shown = run("status", "--endpoint", "an-endpoint").output
    assert "2 to 4 instances" in shown and "at 90, cooldown 300 s in, 30 s out" in shown
