"""An endpoint's number of instances: by UpdateEndpointWeightsAndCapacities, and by Application Auto Scaling."""

import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.conftest import Deployer, ask, in_service, refused
from tests.hosting import archives
from tests.processes import wait_until
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.processes import command_line, descendants

VARIANT = "AllTraffic"
REGISTER = "register_scalable_target"
MORNING = {"ScheduledActionName": "morning", "Schedule": "rate(1 day)"}


def scalable(endpoint: str) -> dict[str, Any]:
    """What Application Auto Scaling calls an endpoint's number of instances."""
    return {
        "ServiceNamespace": "sagemaker",
        "ResourceId": f"endpoint/{endpoint}/variant/{VARIANT}",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    }


def counts(sagemaker: Any, name: str) -> tuple[int, int]:
    (variant,) = sagemaker.describe_endpoint(EndpointName=name)["ProductionVariants"]
    return variant["CurrentInstanceCount"], variant["DesiredInstanceCount"]


def settle(sagemaker: Any, name: str) -> tuple[int, int]:
    in_service(sagemaker, name)
    return counts(sagemaker, name)


def servers(local: LocalEndpoint, endpoint: str) -> int:
    """The tritonservers of an endpoint."""
    lines = map(command_line, descendants(local.pid))
    return sum(f".{endpoint}/" in line and "tritonserver" in line.split("\0")[0] for line in lines)


def test_instances_come_and_go_while_the_endpoint_answers(
    deployer: Deployer, shared: str, local: LocalEndpoint, sagemaker: Any, runtime: Any
) -> None:
    deployer.multi_model("sized")
    answers: list[list[float]] = []
    ended = threading.Event()

    def ask_on() -> None:
        while not ended.is_set():
            answers.append(ask(runtime, "sized", "one.tar.gz", 1))

    def change(count: int) -> None:
        share = {"VariantName": VARIANT, "DesiredInstanceCount": count}
        sagemaker.update_endpoint_weights_and_capacities(EndpointName="sized", DesiredWeightsAndCapacities=[share])
        assert counts(sagemaker, "sized")[1] == count
        assert settle(sagemaker, "sized") == (count, count)
        wait_until(lambda: servers(local, "sized") == count)

    ask(runtime, "sized", "one.tar.gz", 1)  # the model is loaded
    thread = threading.Thread(target=ask_on)
    thread.start()
    try:
        change(3)
        change(1)
    finally:
        ended.set()
        thread.join()
    assert answers and all(answer == [1] for answer in answers)

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


def test_auto_scaling_changes_the_number_of_instances(deployer: Deployer, local: LocalEndpoint, sagemaker: Any) -> None:
    """The calls of AWS's notebooks; the metric is one of the user's own, so that nobody has to wait for 15 minutes."""
    deployer.multi_model("scaled")
    scaling, cloudwatch = local.client("application-autoscaling"), local.client("cloudwatch")
    target = scalable("scaled")
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
        ({"PolicyType": "PredictiveScaling"}, "NotSupportedLocally"),
        ({"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1.0}}, "ValidationException"),
    ):
        assert refused(scaling.put_scaling_policy, **(policy | wrong))[0] == code
    assert refused(scaling.delete_scaling_policy, **target, PolicyName="other")[0] == "ObjectNotFoundException"
    scaling.deregister_scalable_target(**target)
    assert not scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]


def test_a_slow_scale_out_of_one_endpoint_does_not_hold_up_anothers(
    deployer: Deployer, local: LocalEndpoint, sagemaker: Any, tmp_path: Path
) -> None:
    """The second instance of the first endpoint is not ready before its model is."""
    scaling, gate = local.client("application-autoscaling"), archives.Gate(tmp_path)
    second = f"if os.path.exists({str(tmp_path / 'first')!r}): {gate.wait}"
    deployer.single_model("slow", archives.model(initialize=second))
    deployer.multi_model("quick")
    (tmp_path / "first").touch()
    try:
        scaling.register_scalable_target(**scalable("slow"), MinCapacity=2, MaxCapacity=2)
        wait_until(gate.reached)
        scaling.register_scalable_target(**scalable("quick"), MinCapacity=2, MaxCapacity=2)
        wait_until(lambda: counts(sagemaker, "quick") == (2, 2))
        assert counts(sagemaker, "slow") == (1, 2)
    finally:
        gate.open()
    assert settle(sagemaker, "slow") == (2, 2)
    for name in ("slow", "quick"):
        activities = partial(scaling.describe_scaling_activities, **scalable(name))
        wait_until(lambda: activities()["ScalingActivities"][0]["StatusCode"] == "Successful")  # noqa: B023
        scaling.deregister_scalable_target(**scalable(name))


def test_an_alarm_that_scales_is_refused_with_the_cure(local: LocalEndpoint) -> None:
    arn = "arn:aws:autoscaling:us-east-1:123456789012:scalingPolicy:0:resource/sagemaker/endpoint/e/variant/v:p"
    alarm = {"AlarmName": "a", "AlarmActions": [arn], "EvaluationPeriods": 1, "Threshold": 1.0, "Period": 60}
    alarm |= {"ComparisonOperator": "GreaterThanThreshold", "Namespace": "n", "MetricName": "m", "Statistic": "Sum"}
    code, message = refused(local.client("cloudwatch").put_metric_alarm, **alarm)
    assert (code, "TargetTrackingScaling" in message) == ("NotSupportedLocally", True)


@pytest.mark.parametrize(
    ("operation", "members", "code", "words"),
    [
        (REGISTER, {"ResourceId": "endpoint/nobody/variant/AllTraffic"}, "ValidationException", "does not exist"),
        (REGISTER, {"MinCapacity": 3, "MaxCapacity": 2}, "ValidationException", "from 1 to the MaxCapacity 2"),
        (REGISTER, {"MinCapacity": 0, "MaxCapacity": 2}, "ValidationException", "from 1 to the MaxCapacity 2"),
        (REGISTER, {"ServiceNamespace": "ecs"}, "NotSupportedLocally", "ServiceNamespace ecs"),
        ("put_scaling_policy", {"PolicyName": "p"}, "NotSupportedLocally", "TargetTrackingScaling is"),
        ("put_scheduled_action", MORNING, "NotSupportedLocally", "RegisterScalableTarget"),
    ],
)
def test_what_cannot_be_scaled_or_not_in_this_way_is_refused(
    local: LocalEndpoint, shared: str, operation: str, members: dict[str, Any], code: str, words: str
) -> None:
    call = getattr(local.client("application-autoscaling"), operation)
    found = refused(call, **(scalable(shared) | members))
    assert (found[0], words in found[1]) == (code, True)
