"""How many instances a target tracking policy wants."""

from __future__ import annotations

import pytest

from triton_ensembles.endpoint.scaling.policy import Metric, TargetTracking, read_policy

NONE: list[float | None] = [None] * 15


def tracking(*, may_scale_in: bool = True) -> TargetTracking:
    return TargetTracking("p", Metric("n", "m", (), "Sum"), 100.0, 300, 300, may_scale_in)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (NONE, 2),
        ([*NONE, 150.0, 150.0], 2),  # two minutes are not enough
        ([*NONE, 150.0, 150.0, 150.0], 3),
        ([*NONE, 150.0, 150.0, 100.0], 2),  # at the target
        ([*NONE, 101.0, 101.0, 101.0], 3),
        ([*NONE, 150.0, 150.0, 1000.0], 20),
        ([150.0, None, 150.0, 150.0], 2),
        ([40.0] * 15, 1),
        ([60.0] * 15, 2),
        ([40.0] * 14, 2),
        ([*[40.0] * 14, 95.0], 2),
        ([0.0] * 15, 1),
    ],
)
def test_the_last_minutes_decide(values: list[float | None], wanted: int) -> None:
    assert tracking().wanted(2, values) == wanted


def test_scaling_in_can_be_switched_off() -> None:
    assert tracking(may_scale_in=False).wanted(2, [1.0] * 15) == 2


def test_the_predefined_metric_is_invocations_per_instance() -> None:
    settings = {
        "TargetValue": 70.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
        "ScaleInCooldown": 10,
    }
    policy = {"PolicyName": "p", "TargetTrackingScalingPolicyConfiguration": settings}
    found = read_policy(policy, "e", "v")
    dimensions = (("EndpointName", "e"), ("VariantName", "v"))
    assert found.metric == Metric("AWS/SageMaker", "InvocationsPerInstance", dimensions, "Sum")
    assert (found.target, found.in_cooldown, found.out_cooldown, found.may_scale_in) == (70, 10, 300, True)
