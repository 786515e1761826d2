"""The search on a measured function whose best settings are known, and the front of what was measured."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.measuring.perf.analyzer import ClientTimes
from triton_ensembles.measuring.tuning.goal import Goal
from triton_ensembles.measuring.tuning.records import Trial, front
from triton_ensembles.measuring.tuning.search import Budget, Outcome, RejectedError, Search
from triton_ensembles.measuring.tuning.space import PRESENT, Candidate, Setting, Value

LOAD_SECONDS, POINT_SECONDS = 3.0, 2.5
SETTINGS = (
    Setting("bert", "engine", ("onnxruntime fp32", "openvino fp32"), "onnxruntime fp32", scale=False),
    Setting("bert", "instances", (1, 2, 3, 4), 1),
    Setting("bert", "queue_delay_us", (0, 100, 250, 500, 1000), 0),
)
BEST = {"bert.engine": "openvino fp32", "bert.instances": 3, "bert.queue_delay_us": 500}


def capacity(values: Mapping[str, Value]) -> float:
    """200 requests a second; three instances, the other engine and a delay of half a millisecond are better."""
    found = 200.0 * (1.3 if values.get("bert.engine") == "openvino fp32" else 1)
    found *= 1 + 0.2 * (2 - abs(int(values.get("bert.instances", 1) or 0) - 3))
    return found * (1.1 if values.get("bert.queue_delay_us") == 500 else 1)


def times(concurrency: int, throughput: float, latency: float, p99: float) -> ClientTimes:
    return ClientTimes(concurrency, throughput, latency, p99, p99, p99, latency, 0.0, 0.0)


@dataclass
class SyntheticBench:
    """Instead of a server: a closed loop on a machine whose time passes only here.

    It measures ``capacity(values)`` requests a second, each of which takes at least 10 ms.

    Attributes:
        noise: the largest relative error of a measurement.
        refused: candidates that do not load.
    """

    capacity: Callable[[Mapping[str, Value]], float]
    noise: float = 0.0
    seed: int = 0
    refused: Callable[[Candidate], bool] = lambda _: False
    interrupt_after: int | None = None
    now: float = 0.0
    measured: list[tuple[Candidate, int]] = field(default_factory=list)
    loaded: set[Candidate] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def clock(self) -> float:
        return self.now

    def load(self, candidate: Candidate) -> None:
        self.now += LOAD_SECONDS
        if self.refused(candidate):
            raise RejectedError("it does not load")
        self.loaded.add(candidate)

    def release(self, candidate: Candidate) -> None:
        self.loaded.discard(candidate)

    def measure(self, candidate: Candidate, concurrency: int) -> ClientTimes:
        assert candidate in self.loaded
        if self.interrupt_after is not None and len(self.measured) >= self.interrupt_after:
            raise KeyboardInterrupt
        self.now += POINT_SECONDS
        self.measured.append((candidate, concurrency))
        capacity = self.capacity(candidate.as_dict())
        throughput = min(concurrency / 0.01, capacity) * self._error()
        latency = max(10.0, 1000 * concurrency / capacity)
        return times(concurrency, throughput, latency, latency * 1.3 * self._error())

    def _error(self) -> float:
        return 1 + self._random.uniform(-self.noise, self.noise)


def search(bench: SyntheticBench, goal: Goal, minutes: float = 60, most: int = 64) -> tuple[Outcome, list[str]]:
    said: list[str] = []
    budget = Budget(minutes * 60, bench.clock)
    return Search(SETTINGS, goal, bench, budget, most, said.append).run(), said


@pytest.mark.parametrize("goal", [Goal(p99_ms=100), Goal(throughput=350)], ids=str)
def test_the_best_settings_are_found(goal: Goal) -> None:
    """Otherwise somebody who tunes by hand is faster, or a neighbor of the machine decides who wins, because the last
    rounds do not come in turn, or the memory fills with models that nobody measures."""
    bench = SyntheticBench(capacity)
    outcome, _ = search(bench, goal)
    assert outcome.best.as_dict() == BEST and outcome.proven
    assert outcome.ended == "no change of a setting is better"
    assert outcome.final is not None
    rounds = len(outcome.final.rounds)
    assert [candidate for candidate, _ in bench.measured[-2 * rounds :]] == [outcome.best, PRESENT] * rounds
    assert bench.loaded == {PRESENT, outcome.best}


def test_a_goal_out_of_reach_gives_what_comes_nearest() -> None:
    """Otherwise a bound that is too tight ends without any advice."""
    outcome, said = search(SyntheticBench(capacity), Goal(throughput=2000))
    assert outcome.best.as_dict() == BEST
    assert any("do not reach at least 2000 inferences/s" in line for line in said)


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_not_taken_for_an_improvement(seed: int) -> None:
    """Otherwise a busy machine writes settings that are no better, or worse."""
    outcome, _ = search(SyntheticBench(lambda _: 200.0, noise=0.03, seed=seed), Goal(p99_ms=100))
    assert outcome.best == PRESENT
    outcome, _ = search(SyntheticBench(capacity, noise=0.05, seed=seed), Goal(p99_ms=100))
    assert capacity(outcome.best.as_dict()) > 1.5 * capacity({}) and outcome.proven
    assert outcome.final is not None and outcome.final.ratio > 1.4


def test_the_concurrency_is_the_one_with_most_throughput_within_the_bound() -> None:
    """Otherwise settings are compared at a load that nobody wants."""
    outcome, _ = search(SyntheticBench(lambda _: 200.0), Goal(p99_ms=130))
    best = next(trial.times for trial in outcome.records.of(PRESENT) if trial.times.concurrency == outcome.concurrency)
    assert best.p99_ms <= 130 and best.throughput == 200
    outcome, _ = search(SyntheticBench(lambda _: 200.0), Goal(throughput=190))
    assert outcome.concurrency == 2  # each more makes requests wait
    outcome, _ = search(SyntheticBench(lambda _: 200.0), Goal(p99_ms=1))
    assert outcome.concurrency == 1


def test_a_candidate_that_cannot_be_used_is_dropped_with_the_reason() -> None:
    """Otherwise the search ends at the first engine that lacks an operator, or chooses it."""
    openvino = lambda candidate: candidate.as_dict().get("bert.engine") == "openvino fp32"  # noqa: E731
    outcome, said = search(SyntheticBench(capacity, refused=openvino), Goal(p99_ms=100))
    assert outcome.best.as_dict() == {key: value for key, value in BEST.items() if key != "bert.engine"}
    assert set(outcome.records.dropped.values()) == {"it does not load"}
    assert "bert.engine=openvino fp32: dropped, it does not load" in said
    with pytest.raises(RejectedError, match="it does not load"):
        search(SyntheticBench(capacity, refused=lambda _: True), Goal(p99_ms=100))


@pytest.mark.parametrize("after", [1, 9, 30])
def test_ctrl_c_gives_the_best_so_far(after: int) -> None:
    """Otherwise ten minutes of measuring are lost."""
    outcome, _ = search(SyntheticBench(capacity, interrupt_after=after), Goal(p99_ms=100))
    assert outcome.interrupted and not outcome.proven
    assert outcome.best == PRESENT or after == 30


@given(
    minutes=st.floats(0.5, 20),
    noise=st.floats(0, 0.3),
    seed=st.integers(0, 1000),
    goal=st.sampled_from(
        [Goal(p99_ms=8), Goal(p99_ms=50), Goal(p99_ms=500), Goal(throughput=50), Goal(throughput=400)]
    ),
)
def test_the_budget_is_kept(minutes: float, noise: float, seed: int, goal: Goal) -> None:
    """Otherwise `--minutes 10` in a pipeline takes as long as it likes, or leaves no time for the final rounds."""
    bench = SyntheticBench(capacity, noise=noise, seed=seed)
    outcome, _ = search(bench, goal, minutes)
    assert bench.now <= minutes * 60 + LOAD_SECONDS + POINT_SECONDS
    assert len(bench.loaded) <= 3
    if outcome.best != PRESENT:
        assert outcome.final is not None and outcome.final.rounds
        assert outcome.final.gain > 1
        assert {candidate for candidate, _ in bench.measured[-2:]} == {PRESENT, outcome.best}


NUMBERS = st.integers(1, 20).map(float)
TRIALS = st.lists(st.builds(lambda x, y: Trial(PRESENT, times(1, x, y, y), 1), NUMBERS, NUMBERS), max_size=30)


def beats(one: Trial, other: Trial) -> bool:
    better = one.times.throughput > other.times.throughput or one.times.p99_ms < other.times.p99_ms
    return better and one.times.throughput >= other.times.throughput and one.times.p99_ms <= other.times.p99_ms


@given(TRIALS)
def test_nothing_beats_the_front_and_the_front_beats_all_else(trials: list[Trial]) -> None:
    """Otherwise the table offers settings that others beat in both, or lacks some that none beats."""
    ahead = front(trials)
    assert not any(beats(one, other) for one in trials for other in ahead)
    points = {trial.times for trial in ahead}
    assert all(trial.times in points or any(beats(one, trial) for one in ahead) for trial in trials)
    assert ahead == sorted(ahead, key=lambda each: each.times.throughput)
    assert len(points) == len(ahead)
