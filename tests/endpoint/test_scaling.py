"""An endpoint's number of instances: by UpdateEndpointWeightsAndCapacities, and by Application Auto Scaling."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.endpoint.conftest import SOON, Deployer
from tests.endpoint.hosting import archives
from tests.triton.test_server import wait_until
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.processes import command_line, descendants

Refused = Callable[..., tuple[str, str]]
VARIANT = "AllTraffic"


def counts(sagemaker: Any, name: str) -> tuple[int, int]:
    (variant,) = sagemaker.describe_endpoint(EndpointName=name)["ProductionVariants"]
    return variant["CurrentInstanceCount"], variant["DesiredInstanceCount"]


def settle(sagemaker: Any, name: str) -> tuple[int, int]:
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=name, WaiterConfig=SOON)
    return counts(sagemaker, name)


def servers(local: LocalEndpoint, endpoint: str) -> int:
    """The tritonservers of an endpoint."""
    lines = map(command_line, descendants(local.pid))
    return sum(f".{endpoint}." in line and "tritonserver" in line.split("\0")[0] for line in lines)


def test_instances_come_and_go_while_the_endpoint_answers(
    deployer: Deployer, shared: str, local: LocalEndpoint, sagemaker: Any, runtime: Any, refused: Refused
) -> None:
    deployer.multi_model("sized")
    answers: list[list[float]] = []
    ended = threading.Event()

    def ask() -> None:
        call = {"EndpointName": "sized", "TargetModel": "one.tar.gz", "Body": archives.body(1)}
        answers.append(archives.values(runtime.invoke_endpoint(**call)["Body"].read()))

    def ask_on() -> None:
        while not ended.is_set():
            ask()

    def change(count: int) -> None:
        share = {"VariantName": VARIANT, "DesiredInstanceCount": count}
        sagemaker.update_endpoint_weights_and_capacities(EndpointName="sized", DesiredWeightsAndCapacities=[share])
        assert counts(sagemaker, "sized")[1] == count
        assert settle(sagemaker, "sized") == (count, count)
        wait_until(lambda: servers(local, "sized") == count)

    ask()  # the model is loaded
    thread = threading.Thread(target=ask_on)
    thread.start()
    try:
        change(3)
        change(1)
    finally:
        ended.set()
        thread.join()
    assert len(answers) > 1 and all(answer == [1] for answer in answers)

    change(2)
    update: dict[str, Any] = {"EndpointName": "sized", "EndpointConfigName": "sized"}
    sagemaker.update_endpoint(**update, RetainAllVariantProperties=True)
    assert settle(sagemaker, "sized") == (2, 2)
    sagemaker.update_endpoint(**update)
    assert settle(sagemaker, "sized") == (1, 1)

    for share, words in (
        ({"VariantName": "Other"}, "has no variant"),
        ({"VariantName": VARIANT, "DesiredInstanceCount": 0}, "is 0"),
        ({"VariantName": VARIANT, "DesiredWeight": 0.0}, "weight of every production variant would be 0"),
    ):
        call = {"EndpointName": "sized", "DesiredWeightsAndCapacities": [share]}
        code, message = refused(sagemaker.update_endpoint_weights_and_capacities, **call)
        assert (code, words in message) == ("ValidationException", True)


def test_auto_scaling_changes_the_number_of_instances(
    deployer: Deployer, local: LocalEndpoint, sagemaker: Any, refused: Refused
) -> None:
    """The calls of AWS's notebooks; the metric is one of the user's own, so that nobody has to wait for 15 minutes."""
    deployer.multi_model("scaled")
    scaling, cloudwatch = local.client("application-autoscaling"), local.client("cloudwatch")
    target = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": f"endpoint/scaled/variant/{VARIANT}",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    }
    policy: dict[str, Any] = {**target, "PolicyName": "load", "PolicyType": "TargetTrackingScaling"}

    def track(value: float) -> None:
        metric = {"Namespace": "Own", "MetricName": "Load", "Statistic": "Average"}
        settings = {"TargetValue": value, "CustomizedMetricSpecification": metric}
        settings |= {"ScaleInCooldown": 0, "ScaleOutCooldown": 0}
        scaling.put_scaling_policy(**policy, TargetTrackingScalingPolicyConfiguration=settings)

    assert refused(scaling.register_scalable_target, **target)[0] == "ValidationException"
    assert refused(scaling.deregister_scalable_target, **target)[0] == "ObjectNotFoundException"

    scaling.register_scalable_target(**target, MinCapacity=2, MaxCapacity=3)
    wait_until(lambda: counts(sagemaker, "scaled") == (2, 2))
    scaling.register_scalable_target(**target, MinCapacity=1)
    (described,) = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert (described["MinCapacity"], described["MaxCapacity"]) == (1, 3)

    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    for ago in range(-2, 17):  # the test may run over the end of a minute
        moment = minute - timedelta(minutes=ago) + timedelta(seconds=ago * 7 % 60)
        datum = {"MetricName": "Load", "Value": 100.0, "Timestamp": moment}
        cloudwatch.put_metric_data(Namespace="Own", MetricData=[datum])
    track(70)
    wait_until(lambda: counts(sagemaker, "scaled") == (3, 3))  # no more than MaxCapacity
    assert servers(local, "scaled") == 3
    track(1000)
    wait_until(lambda: counts(sagemaker, "scaled") == (1, 1))
    activities = scaling.describe_scaling_activities(ServiceNamespace="sagemaker")["ScalingActivities"]
    assert [each["Description"][-2] for each in activities] == ["1", "3", "2"]
    assert "the policy load tracks Load at 70" in activities[1]["Cause"]

    for wrong, code in (
        ({"PolicyType": "StepScaling"}, "ValidationException"),
        ({"PolicyType": "PredictiveScaling"}, "NotSupportedLocally"),
        ({"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1.0}}, "ValidationException"),
    ):
        assert refused(scaling.put_scaling_policy, **(policy | wrong))[0] == code
    assert refused(scaling.delete_scaling_policy, **target, PolicyName="other")[0] == "ObjectNotFoundException"
    scaling.deregister_scalable_target(**target)
    assert not scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]


def test_an_alarm_that_calls_a_step_scaling_policy_changes_the_number_of_instances(
    deployer: Deployer, local: LocalEndpoint, sagemaker: Any
) -> None:
    """As AWS's notebook of step scaling does it."""
    deployer.multi_model("stepped")
    scaling, cloudwatch = local.client("application-autoscaling"), local.client("cloudwatch")
    target = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": f"endpoint/stepped/variant/{VARIANT}",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    }
    scaling.register_scalable_target(**target, MinCapacity=1, MaxCapacity=4)

    def put(name: str, *steps: dict[str, float]) -> str:
        settings = {"AdjustmentType": "ChangeInCapacity", "Cooldown": 0, "StepAdjustments": steps}
        kind = {"PolicyType": "StepScaling", "StepScalingPolicyConfiguration": settings}
        return str(scaling.put_scaling_policy(**target, PolicyName=name, **kind)["PolicyARN"])

    def alarm(name: str, policy: str, comparison: str, threshold: float) -> None:
        metric = {"Namespace": "Own", "MetricName": "Steps", "Statistic": "Maximum", "Period": 60}
        rule = {"EvaluationPeriods": 2, "Threshold": threshold, "ComparisonOperator": comparison}
        cloudwatch.put_metric_alarm(AlarmName=name, **metric, **rule, AlarmActions=[policy])

    def state(name: str) -> str:
        (found,) = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
        return str(found["StateValue"])

    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    for ago in range(-3, 4):  # the test may run over the end of a minute
        datum = {"MetricName": "Steps", "Value": 45.0, "Timestamp": minute - timedelta(minutes=ago)}
        cloudwatch.put_metric_data(Namespace="Own", MetricData=[datum])
    first, second = {"MetricIntervalUpperBound": 20, "MetricIntervalLowerBound": 0}, {"MetricIntervalLowerBound": 20}
    up = put("up", {**first, "ScalingAdjustment": 1}, {**second, "ScalingAdjustment": 3})
    alarm("high", up, "GreaterThanThreshold", 20.0)
    scaling.register_scalable_target(**target)  # it looks at once
    wait_until(lambda: counts(sagemaker, "stepped") == (4, 4))
    assert state("high") == "ALARM"
    cloudwatch.delete_alarms(AlarmNames=["high"])
    down = put("down", {"MetricIntervalUpperBound": 0, "ScalingAdjustment": -3})
    alarm("low", down, "LessThanThreshold", 50.0)
    scaling.register_scalable_target(**target)
    wait_until(lambda: counts(sagemaker, "stepped") == (1, 1))
    activities = scaling.describe_scaling_activities(ServiceNamespace="sagemaker")["ScalingActivities"]
    causes = [each["Cause"] for each in activities if "/stepped/" in each["ResourceId"]]
    assert causes == [
        f"the alarm {alarm} in state ALARM calls the policy {policy}"
        for alarm, policy in (("low", "down"), ("high", "up"))
    ]
    scaling.deregister_scalable_target(**target)


def test_a_scheduled_action_changes_the_capacities(
    deployer: Deployer, local: LocalEndpoint, sagemaker: Any, refused: Refused
) -> None:
    deployer.multi_model("planned")
    scaling = local.client("application-autoscaling")
    target = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": f"endpoint/planned/variant/{VARIANT}",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    }
    action = {**target, "ScheduledActionName": "morning", "ScalableTargetAction": {"MinCapacity": 2, "MaxCapacity": 3}}
    soon = (datetime.now(UTC) + timedelta(seconds=2)).strftime("at(%Y-%m-%dT%H:%M:%S)")
    assert refused(scaling.put_scheduled_action, **action, Schedule=soon)[0] == "ObjectNotFoundException"
    scaling.register_scalable_target(**target, MinCapacity=1, MaxCapacity=1)
    for wrong in ({"Schedule": "daily"}, {"Schedule": soon, "ScalableTargetAction": {"MinCapacity": 0}}):
        assert refused(scaling.put_scheduled_action, **(action | wrong))[0] == "ValidationException"
    soon = (datetime.now(UTC) + timedelta(seconds=2)).strftime("at(%Y-%m-%dT%H:%M:%S)")
    scaling.put_scheduled_action(**action, Schedule=soon)
    (described,) = scaling.describe_scheduled_actions(ServiceNamespace="sagemaker")["ScheduledActions"]
    assert (described["Schedule"], described["ScalableTargetAction"]["MaxCapacity"]) == (soon, 3)
    # Each of these calls has it look at once, and changes nothing else.
    wait_until(lambda: scaling.register_scalable_target(**target) and counts(sagemaker, "planned") == (2, 2))
    (now,) = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert (now["MinCapacity"], now["MaxCapacity"]) == (2, 3)
    assert refused(scaling.delete_scheduled_action, **target, ScheduledActionName="x")[0] == "ObjectNotFoundException"
    scaling.deregister_scalable_target(**target)  # its actions go with it
    assert not scaling.describe_scheduled_actions(ServiceNamespace="sagemaker")["ScheduledActions"]


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"ResourceId": "endpoint/nobody/variant/AllTraffic"}, "ValidationException", "does not exist"),
        ({"MinCapacity": 3}, "ValidationException", "from 1 to the MaxCapacity 2"),
        ({"MinCapacity": 0}, "ValidationException", "from 1 to the MaxCapacity 2"),
        ({"ServiceNamespace": "ecs"}, "NotSupportedLocally", "ServiceNamespace ecs"),
    ],
)
def test_targets_that_cannot_be_scaled_are_refused(
    local: LocalEndpoint, shared: str, refused: Refused, change: dict[str, Any], code: str, words: str
) -> None:
    target = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": f"endpoint/{shared}/variant/{VARIANT}",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "MinCapacity": 1,
        "MaxCapacity": 2,
    }
    found = refused(local.client("application-autoscaling").register_scalable_target, **(target | change))
    assert (found[0], words in found[1]) == (code, True)
