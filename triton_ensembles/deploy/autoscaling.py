"""Target tracking: how many instances an endpoint has, by Application Auto Scaling."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.aws import Aws, doing, is_missing
from triton_ensembles.deploy.sagemaker_endpoint import find_endpoint, refuse_foreign
from triton_ensembles.deploy.resource_names import AUTOSCALED, VARIANT, written_tags
from triton_ensembles.deploy.rollback import Say
from triton_ensembles.errors import EnsembleError
from triton_ensembles.triton.releases import instance_of

_NAMESPACE, _DIMENSION = "sagemaker", "sagemaker:variant:DesiredInstanceCount"
_RUNNING = ("InService", "Updating")


class Metric(StrEnum):
    """What the policy keeps at its target."""

    GPU = "gpu"
    INVOCATIONS = "invocations"


# The numbers of AWS's own multi-model Triton example (resnet_pytorch_python-backend): 60 %, 600 s in, 200 s out.
GPU_TARGET = 60.0
SCALE_IN_COOLDOWN, SCALE_OUT_COOLDOWN = 600, 200


@dataclass(frozen=True)
class Scaling:
    """Between ``least`` and ``most`` instances.

    Args:
        target: percent of the GPU, on average over the instances; or invocations a minute for each instance.
        scale_in_cooldown: seconds after an instance was taken away before another may be.
        scale_out_cooldown: seconds after an instance was added before another may be.
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
            Metric.INVOCATIONS: f"SageMakerVariantInvocationsPerInstance at {self.target:g} a minute",
        }[self.metric]
        return (
            f"{self.least} to {self.most} instances, {what}; cooldown {self.scale_in_cooldown} s in, "
            f"{self.scale_out_cooldown} s out"
        )


def autoscale(aws: Aws, endpoint: str, scaling: Scaling, say: Say) -> None:
    """Register the variant and put the policy; both are changed when they are there already.

    Raises:
        EnsembleError: no such endpoint, one without a GPU that is to follow it, or AWS's reason.
    """
    with doing(f"auto scaling {endpoint}"):
        found = find_endpoint(aws, endpoint)
        if found is None or found["EndpointStatus"] not in _RUNNING:
            status = found["EndpointStatus"] if found else "not there"
            raise EnsembleError(f"the endpoint {endpoint} is {status}", cure="deploy it first")
        refuse_foreign(aws, found)
        if scaling.metric is Metric.GPU:
            _refuse_without_gpu(instance_now(aws, endpoint))
        # The tag first: undeploy asks Application Auto Scaling only where it finds it.
        aws.sagemaker.add_tags(ResourceArn=found["EndpointArn"], Tags=written_tags({AUTOSCALED: VARIANT}))
        target = _target(endpoint, VARIANT)
        aws.scaling.register_scalable_target(**target, MinCapacity=scaling.least, MaxCapacity=scaling.most)
        say(f"registered {target['ResourceId']}: {scaling.least} to {scaling.most} instances")
        name = _policy_name(endpoint)
        aws.scaling.put_scaling_policy(
            PolicyName=name,
            **target,
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration=_configuration(endpoint, scaling),
        )
        say(f"put the policy {name}: {scaling}")
        _tell_other_policies(aws, endpoint, name, say)


def remove_scaling(aws: Aws, endpoint: str, variant: str, say: Say) -> int:
    """Delete the policy (AWS deletes its alarms with it) and deregister the variant. 0 when there was neither."""
    target, name = _target(endpoint, variant), _policy_name(endpoint)
    removed = 0
    for what, remove in (
        (f"the policy {name}", partial(aws.scaling.delete_scaling_policy, PolicyName=name)),
        ("the scalable target", aws.scaling.deregister_scalable_target),
    ):
        try:
            remove(**target)
        except ClientError as error:
            if not is_missing(error):
                raise
        else:
            say(f"deleted {what} of {target['ResourceId']}")
            removed += 1
    return removed


def scaling_of(aws: Aws, endpoint: str, variant: str) -> list[str]:
    """Lines for people: the bounds, and each policy with its target and cooldowns."""
    target = _target(endpoint, variant)
    described = aws.scaling.describe_scalable_targets(
        ServiceNamespace=_NAMESPACE, ResourceIds=[target["ResourceId"]], ScalableDimension=_DIMENSION
    )
    lines = [f"{each['MinCapacity']} to {each['MaxCapacity']} instances" for each in described["ScalableTargets"]]
    for policy in aws.scaling.describe_scaling_policies(**target)["ScalingPolicies"]:
        tracking = policy["TargetTrackingScalingPolicyConfiguration"]
        metric = tracking.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType") or tracking.get(
            "CustomizedMetricSpecification", {}
        ).get("MetricName")
        lines.append(
            f"{policy['PolicyName']}: {metric} at {tracking['TargetValue']:g}, cooldown "
            f"{tracking.get('ScaleInCooldown')} s in, {tracking.get('ScaleOutCooldown')} s out"
        )
    return lines


def _target(endpoint: str, variant: str) -> dict[str, Any]:
    return {
        "ServiceNamespace": _NAMESPACE,
        "ResourceId": f"endpoint/{endpoint}/variant/{variant}",
        "ScalableDimension": _DIMENSION,
    }


def _policy_name(endpoint: str) -> str:
    return f"{endpoint}-target-tracking"


def _configuration(endpoint: str, scaling: Scaling) -> dict[str, Any]:
    configuration: dict[str, Any] = {
        "TargetValue": scaling.target,
        "ScaleInCooldown": scaling.scale_in_cooldown,
        "ScaleOutCooldown": scaling.scale_out_cooldown,
    }
    if scaling.metric is Metric.INVOCATIONS:
        configuration["PredefinedMetricSpecification"] = {
            "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
        }
    else:
        configuration["CustomizedMetricSpecification"] = {
            "MetricName": "GPUUtilization",
            "Namespace": "/aws/sagemaker/Endpoints",
            "Dimensions": [
                {"Name": "EndpointName", "Value": endpoint},
                {"Name": "VariantName", "Value": VARIANT},
            ],
            "Statistic": "Average",
            "Unit": "Percent",
        }
    return configuration


def instance_now(aws: Aws, endpoint: str) -> str:
    """The instance type of the endpoint. Raises :class:`EnsembleError` when there is no such endpoint."""
    with doing(f"looking at {endpoint}"):
        found = find_endpoint(aws, endpoint)
        if found is None:
            raise EnsembleError(f"there is no endpoint {endpoint}", cure="deploy it first")
        name = found["EndpointConfigName"]
        variants = aws.sagemaker.describe_endpoint_config(EndpointConfigName=name)["ProductionVariants"]
        return str(variants[0].get("InstanceType", "?"))


def _refuse_without_gpu(instance: str) -> None:
    known = instance_of(instance)
    if known is not None and not known.gpus:
        raise EnsembleError(
            f"{instance} has no GPU, so GPUUtilization never comes and nothing would ever scale",
            cure="use --metric invocations",
        )


def _tell_other_policies(aws: Aws, endpoint: str, keep: str, say: Say) -> None:
    """Of several policies on one variant the one that wants most instances wins; people should know of the others."""
    target = _target(endpoint, VARIANT)
    for policy in aws.scaling.describe_scaling_policies(**target)["ScalingPolicies"]:
        if policy["PolicyName"] != keep:
            say(f"note: the policy {policy['PolicyName']} scales {endpoint} too")
