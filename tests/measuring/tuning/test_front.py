"""The front of latency against throughput, and the ladder of concurrencies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.measuring.tuning.concurrency import rungs
from triton_ensembles.measuring.tuning.goal import Goal, Point
from triton_ensembles.measuring.tuning.records import Trial, front
from triton_ensembles.measuring.tuning.space import PRESENT

NUMBERS = st.integers(1, 20).map(float)
TRIALS = st.lists(st.builds(lambda x, y: Trial(PRESENT, Point(1, x, y, y), 1), NUMBERS, NUMBERS), max_size=30)


def beats(one: Trial, other: Trial) -> bool:
    better = one.point.throughput > other.point.throughput or one.point.p99_ms < other.point.p99_ms
    return better and one.point.throughput >= other.point.throughput and one.point.p99_ms <= other.point.p99_ms


@given(TRIALS)
def test_nothing_beats_the_front_and_the_front_beats_all_else(trials: list[Trial]) -> None:
    """Otherwise the table offers settings that others beat in both, or lacks some that none beats."""
    ahead = front(trials)
    assert not any(beats(one, other) for one in trials for other in ahead)
    points = {trial.point for trial in ahead}
    assert all(trial.point in points or any(beats(one, trial) for one in ahead) for trial in trials)
    assert ahead == sorted(ahead, key=lambda each: each.point.throughput)
    assert len(points) == len(ahead)


@given(st.integers(1, 1024))
def test_concurrencies_rise_to_the_most(most: int) -> None:
    """Otherwise --concurrency is not what is tried at most."""
    steps = rungs(most)
    assert steps[0] == 1 and steps[-1] == most and list(steps) == sorted(set(steps))


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.sampled_from([Goal(10), Goal(None, 10), Goal(10, 5)]))
def test_a_gain_above_one_is_a_higher_score(a: float, b: float, c: float, d: float, goal: Goal) -> None:
    """Otherwise what wins a duel is not what the goal is about."""
    one, other = Point(1, a, b, b), Point(2, c, d, d)
    assert (goal.gain([one], [other]) > 1) == (goal.score(one) > goal.score(other))
