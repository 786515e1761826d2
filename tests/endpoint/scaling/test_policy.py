"""How many instances a target tracking policy wants."""

import pytest

from triton_ensembles.endpoint.scaling.policy import Proposal, TargetTracking, chosen, read_policy

NONE: list[float | None] = [None] * 15


def tracking(*, may_scale_in: bool = True) -> TargetTracking:
    return TargetTracking("p", {}, 100.0, 300, 300, may_scale_in)


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
    assert tracking().instances(2, values) == wanted


def test_scaling_in_can_be_switched_off() -> None:
    assert tracking(may_scale_in=False).instances(2, [1.0] * 15) == 2


def test_the_predefined_metric_is_invocations_per_instance() -> None:
    settings = {
        "TargetValue": 70.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
        "ScaleInCooldown": 10,
    }
    policy = {"PolicyName": "p", "TargetTrackingScalingPolicyConfiguration": settings}
    found = read_policy(policy, "e", "v")
    assert (found.metric["Namespace"], found.metric["MetricName"]) == ("AWS/SageMaker", "InvocationsPerInstance")
    assert [dimension["Value"] for dimension in found.metric["Dimensions"]] == ["e", "v"]
    assert found.metric["Statistic"] == "Sum"
    assert (found.target, found.in_cooldown, found.out_cooldown, found.may_scale_in) == (70, 10, 300, True)


@pytest.mark.parametrize(
    ("counts", "count"),
    [
        ([2, 2], None),
        ([3, 5, 1], 5),  # the most that any policy wants
        ([1, 1], 1),
        ([1, 2], None),  # all must agree to have fewer
    ],
)
def test_of_several_policies_the_one_with_the_most_instances_counts(counts: list[int], count: int | None) -> None:
    proposal = chosen([Proposal(number, "", 10) for number in counts], 2, 10, {})
    assert (proposal and proposal.count) == count


def test_a_cooldown_or_a_suspended_direction_keeps_the_count() -> None:
    more, fewer = Proposal(3, "", 10), Proposal(1, "", 10)
    assert chosen([more], 2, 9, {}) is None
    assert chosen([more], 2, 10, {"DynamicScalingOutSuspended": True}) is None
    assert chosen([fewer], 2, 10, {"DynamicScalingInSuspended": True}) is None
    assert chosen([more], 2, 10, {"DynamicScalingInSuspended": True}) == more
