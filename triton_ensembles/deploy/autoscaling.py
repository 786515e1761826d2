"""The number of an endpoint's instances, scaled by Application Auto Scaling."""

from __future__ import annotations

from functools import partial
from typing import Any

from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.aws_errors import aws_errors, if_exists
from triton_ensembles.deploy.resource_names import AUTOSCALED, VARIANT, write_tags
from triton_ensembles.deploy.rollback import Progress
from triton_ensembles.deploy.sagemaker_endpoint import find_endpoint, instance_type, refuse_foreign
from triton_ensembles.deploy.scaling_policy import Metric, ScalingPolicy, policy_name
from triton_ensembles.errors import EnsembleError
from triton_ensembles.triton.releases import instance_of

_NAMESPACE, _DIMENSION = "sagemaker", "sagemaker:variant:DesiredInstanceCount"
_RUNNING = ("InService", "Updating")


def autoscale_endpoint(aws: Aws, endpoint: str, policy: ScalingPolicy, progress: Progress) -> None:
    """Register the endpoint's variant and put the policy; what exists already is updated.

    Raises:
        EnsembleError: the endpoint does not exist, is not running, was created by another tool, or has no GPU
            although the policy is for one; or AWS's reason.
    """
    with aws_errors(f"set up auto scaling of {endpoint}"):
        found = find_endpoint(aws, endpoint)
        if found is None:
            raise EnsembleError(f"the endpoint {endpoint} does not exist", cure="deploy it first")
        if found["EndpointStatus"] not in _RUNNING:
            raise EnsembleError(f"the endpoint {endpoint} is {found['EndpointStatus']}", cure="deploy it first")
        refuse_foreign(aws, found)
        if policy.metric is Metric.GPU:
            _refuse_without_gpu(instance_type(aws, endpoint))
        # The tag first: undeploy asks Application Auto Scaling only where it finds it.
        aws.sagemaker.add_tags(ResourceArn=found["EndpointArn"], Tags=write_tags({AUTOSCALED: VARIANT}))
        target = _target(endpoint, VARIANT)
        aws.scaling.register_scalable_target(**target, MinCapacity=policy.least, MaxCapacity=policy.most)
        progress(f"registered {target['ResourceId']}: {policy.least} to {policy.most} instances")
        aws.scaling.put_scaling_policy(
            PolicyName=policy_name(endpoint),
            **target,
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration=policy.configuration(endpoint),
        )
        progress(f"put the policy {policy_name(endpoint)}: {policy}")
        _report_other_policies(aws, endpoint, progress)


def remove_scaling(aws: Aws, endpoint: str, variant: str, progress: Progress) -> int:
    """Delete the policy (AWS deletes its alarms with it) and deregister the variant.

    Returns:
        How many of the two existed.

    Raises:
        ClientError: AWS's reason.
    """
    target, name = _target(endpoint, variant), policy_name(endpoint)
    removed = 0
    for what, remove in (
        (f"the policy {name}", partial(aws.scaling.delete_scaling_policy, PolicyName=name)),
        ("the scalable target", aws.scaling.deregister_scalable_target),
    ):
        if if_exists(remove, **target) is not None:
            progress(f"deleted {what} of {target['ResourceId']}")
            removed += 1
    return removed


def describe_scaling(aws: Aws, endpoint: str, variant: str) -> list[str]:
    """Lines for people: the number of instances, and each policy with its target and cooldowns.

    Raises:
        ClientError: AWS's reason.
    """
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


def _refuse_without_gpu(instance: str) -> None:
    known = instance_of(instance)
    if known is not None and not known.gpus:
        raise EnsembleError(
            f"{instance} has no GPU, so it never reports GPUUtilization and the endpoint would never scale",
            cure="use --metric invocations",
        )


def _report_other_policies(aws: Aws, endpoint: str, progress: Progress) -> None:
    """Of several policies on one variant the one that wants the most instances wins, so people should know of them."""
    for policy in aws.scaling.describe_scaling_policies(**_target(endpoint, VARIANT))["ScalingPolicies"]:
        if policy["PolicyName"] != policy_name(endpoint):
            progress(f"note: the policy {policy['PolicyName']} scales {endpoint} too")
