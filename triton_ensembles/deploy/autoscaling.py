"""The number of an endpoint's instances, scaled by Application Auto Scaling."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from triton_ensembles.deploy.aws import Aws, aws_errors, if_exists
from triton_ensembles.deploy.resource_names import AUTOSCALED, VARIANT, write_tags
from triton_ensembles.deploy.sagemaker_endpoint import existing_endpoint, instance_type, refuse_foreign
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.triton.releases import instance_of

_NAMESPACE, _DIMENSION = "sagemaker", "sagemaker:variant:DesiredInstanceCount"
_RUNNING = ("InService", "Updating")
# The values of AWS's own multi-model Triton example (resnet_pytorch_python-backend): 60 %, 600 s in, 200 s out.
GPU_TARGET = 60.0


class Metric(StrEnum):
    """The metric that a policy keeps at its target."""

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
    scale_in_cooldown: int = 600
    scale_out_cooldown: int = 200

    def __str__(self) -> str:
        return f"{self.least} to {self.most} instances, {_described(self.configuration(''))}"

    def configuration(self, endpoint: str) -> dict[str, Any]:
        """PutScalingPolicy's TargetTrackingScalingPolicyConfiguration."""
        gpu: dict[str, Any] = {
            "MetricName": "GPUUtilization",
            "Namespace": "/aws/sagemaker/Endpoints",
            "Dimensions": [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": VARIANT}],
            "Statistic": "Average",
            "Unit": "Percent",
        }
        invocations: dict[str, Any] = {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}
        kind, specification = ("Customized", gpu) if self.metric is Metric.GPU else ("Predefined", invocations)
        return {
            "TargetValue": self.target,
            "ScaleInCooldown": self.scale_in_cooldown,
            "ScaleOutCooldown": self.scale_out_cooldown,
            f"{kind}MetricSpecification": specification,
        }


def autoscale_endpoint(aws: Aws, endpoint: str, policy: ScalingPolicy, progress: Progress) -> None:
    """Register the endpoint's variant and put the policy; what exists already is updated.

    Raises:
        EnsembleError: the endpoint does not exist, is not running, was created by another tool, or has no GPU
            although the policy is for one; or AWS's reason.
    """
    with aws_errors(f"set up auto scaling of {endpoint}"):
        description = existing_endpoint(aws, endpoint)
        if description["EndpointStatus"] not in _RUNNING:
            raise EnsembleError(f"the endpoint {endpoint} is {description['EndpointStatus']}", cure="deploy it first")
        refuse_foreign(aws, description)
        instance = instance_type(aws, endpoint)
        known = instance_of(instance)
        if policy.metric is Metric.GPU and known is not None and not known.gpus:
            message = f"{instance} has no GPU, so it never reports GPUUtilization and the endpoint would never scale"
            raise EnsembleError(message, cure="use --metric invocations")
        # The tag first: undeploy asks Application Auto Scaling only where it finds it.
        aws.sagemaker.add_tags(ResourceArn=description["EndpointArn"], Tags=write_tags({AUTOSCALED: VARIANT}))
        target = _target(endpoint, VARIANT)
        aws.scaling.register_scalable_target(**target, MinCapacity=policy.least, MaxCapacity=policy.most)
        progress(f"registered {target['ResourceId']}: {policy.least} to {policy.most} instances")
        aws.scaling.put_scaling_policy(
            PolicyName=_policy_name(endpoint),
            **target,
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration=policy.configuration(endpoint),
        )
        progress(f"put the policy {_policy_name(endpoint)}: {policy}")
        # Of several policies on one variant the one that wants the most instances wins, so people should know of them.
        for existing in aws.scaling.describe_scaling_policies(**target)["ScalingPolicies"]:
            if existing["PolicyName"] != _policy_name(endpoint):
                progress(f"note: the policy {existing['PolicyName']} also scales {endpoint}")


def remove_scaling(aws: Aws, endpoint: str, variant: str, progress: Progress) -> int:
    """Delete the policy (AWS deletes its alarms with it) and deregister the variant.

    Returns how many of the two existed. Raises :class:`ClientError` with AWS's reason.
    """
    target, name = _target(endpoint, variant), _policy_name(endpoint)
    removed = 0
    if if_exists(aws.scaling.delete_scaling_policy, PolicyName=name, **target) is not None:
        progress(f"deleted the policy {name} of {target['ResourceId']}")
        removed += 1
    if if_exists(aws.scaling.deregister_scalable_target, **target) is not None:
        progress(f"deleted the scalable target of {target['ResourceId']}")
        removed += 1
    return removed


def describe_scaling(aws: Aws, endpoint: str, variant: str) -> list[str]:
    """Lines for people: the number of instances, and each policy. Raises :class:`ClientError`."""
    target = _target(endpoint, variant)
    described = aws.scaling.describe_scalable_targets(
        ServiceNamespace=_NAMESPACE, ResourceIds=[target["ResourceId"]], ScalableDimension=_DIMENSION
    )
    lines = [
        f"{scalable['MinCapacity']} to {scalable['MaxCapacity']} instances" for scalable in described["ScalableTargets"]
    ]
    for policy in aws.scaling.describe_scaling_policies(**target)["ScalingPolicies"]:
        lines.append(f"{policy['PolicyName']}: {_described(policy['TargetTrackingScalingPolicyConfiguration'])}")
    return lines


def _described(tracking: Mapping[str, Any]) -> str:
    """Describe a TargetTrackingScalingPolicyConfiguration."""
    predefined, custom = (tracking.get(f"{kind}MetricSpecification", {}) for kind in ("Predefined", "Customized"))
    metric = predefined.get("PredefinedMetricType") or custom.get("MetricName")
    cooldown = f"cooldown {tracking.get('ScaleInCooldown')} s in, {tracking.get('ScaleOutCooldown')} s out"
    return f"{metric} at {tracking['TargetValue']:g}, {cooldown}"


def _target(endpoint: str, variant: str) -> dict[str, Any]:
    return {
        "ServiceNamespace": _NAMESPACE,
        "ResourceId": f"endpoint/{endpoint}/variant/{variant}",
        "ScalableDimension": _DIMENSION,
    }


def _policy_name(endpoint: str) -> str:
    return f"{endpoint}-target-tracking"
