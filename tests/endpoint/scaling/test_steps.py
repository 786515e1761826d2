"""How many instances a step scaling policy wants, and when an alarm calls it."""

from __future__ import annotations

from typing import Any

import pytest

from triton_ensembles.endpoint.scaling.alarms import ALARM, INSUFFICIENT, OK, read_alarm
from triton_ensembles.endpoint.scaling.steps import fault, read_steps
from triton_ensembles.endpoint.scaling.wish import Wish, chosen


def policy(kind: str, *steps: tuple[float | None, float | None, int], **settings: Any) -> dict[str, Any]:
    names = ("MetricIntervalLowerBound", "MetricIntervalUpperBound", "ScalingAdjustment")
    adjustments = [
        {name: value for name, value in zip(names, step, strict=True) if value is not None} for step in steps
    ]
    configuration = {"AdjustmentType": kind, "StepAdjustments": adjustments, **settings}
    return {"PolicyName": "p", "StepScalingPolicyConfiguration": configuration}


OUT = policy("ChangeInCapacity", (0, 20, 1), (20, None, 2))
IN = policy("ChangeInCapacity", (-20, 0, -1), (None, -20, -2))


@pytest.mark.parametrize(
    ("given", "count", "breach", "wanted"),
    [
        (OUT, 1, 0, 2),
        (OUT, 1, 19.9, 2),
        (OUT, 1, 20, 3),
        (OUT, 1, -1, 1),  # no step
        (IN, 5, 0, 4),
        (IN, 5, -19, 4),
        (IN, 5, -20, 3),
        (IN, 5, 1, 5),
        (policy("ExactCapacity", (None, None, 4)), 1, 3, 4),
        (policy("PercentChangeInCapacity", (0, None, 10)), 3, 1, 4),  # 0.3
        (policy("PercentChangeInCapacity", (0, None, 50)), 5, 1, 7),  # 2.5
        (policy("PercentChangeInCapacity", (None, 0, -40)), 4, -1, 3),  # -1.6
        (policy("PercentChangeInCapacity", (0, None, 10), MinAdjustmentMagnitude=2), 3, 1, 5),
    ],
)
def test_the_step_that_covers_the_breach_says_how_many(
    given: dict[str, Any], count: int, breach: float, wanted: int
) -> None:
    assert fault(read_steps(given)) == ""
    assert read_steps(given).wanted(count, breach) == wanted


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "At least one"),
        (((0, 20, 1), (30, None, 2)), "a gap"),
        (((0, 20, 1), (10, None, 2)), "overlap"),
        (((20, 0, 1),), "less than"),
    ],
)
def test_steps_that_do_not_fit_together_have_a_fault(steps: tuple[Any, ...], words: str) -> None:
    assert words in fault(read_steps(policy("ChangeInCapacity", *steps)))


@pytest.mark.parametrize(
    ("values", "settings", "state"),
    [
        ([30, 30, 30], {}, ALARM),
        ([30, 20, 30], {}, OK),
        ([30, 20, 30], {"DatapointsToAlarm": 2}, ALARM),
        ([20, 20, 20], {"ComparisonOperator": "GreaterThanOrEqualToThreshold"}, ALARM),
        ([10, 10, 10], {"ComparisonOperator": "LessThanThreshold"}, ALARM),
        ([None] * 3, {}, INSUFFICIENT),
        ([None] * 3, {"TreatMissingData": "ignore"}, "as before"),
        ([None] * 3, {"TreatMissingData": "breaching"}, ALARM),
        ([None] * 3, {"TreatMissingData": "notBreaching"}, OK),
        ([30, None, 30], {}, "as before"),
        ([30, None, 20], {}, OK),
    ],
)
def test_the_state_of_an_alarm(values: list[float | None], settings: dict[str, Any], state: str) -> None:
    described = {"AlarmName": "a", "Namespace": "n", "MetricName": "m", "Statistic": "Maximum", "Period": 60}
    described |= {"EvaluationPeriods": 3, "Threshold": 20.0, "ComparisonOperator": "GreaterThanThreshold"}
    alarm = read_alarm(described | {"StateValue": "as before"} | settings)
    assert alarm is not None
    assert alarm.look(values) == state


def test_the_most_that_any_policy_wants_is_chosen() -> None:
    def wish(count: int, *, cooldown: float = 0, tracks: bool = False) -> Wish:
        return Wish(count, "", cooldown, tracks)

    def count(*wishes: Wish, **suspended: bool) -> int:
        found = chosen(wishes, 3, 100, suspended)
        return found.count if found else 3

    assert count(wish(4), wish(5), wish(1)) == 5
    assert count(wish(5, cooldown=200), wish(4)) == 4
    assert count(wish(5), DynamicScalingOutSuspended=True) == 3
    assert count(wish(1), wish(2)) == 2
    assert count(wish(1, tracks=True), wish(3, tracks=True)) == 3
    assert count(wish(2), wish(3, tracks=True)) == 2  # a step policy needs nobody's consent
