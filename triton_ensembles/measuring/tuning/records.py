"""The measurements of a search, their front, and the candidates that were dropped."""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from triton_ensembles.measuring.perf.analyzer import ClientTimes, median_times
from triton_ensembles.measuring.tuning.goal import Goal, ratio
from triton_ensembles.measuring.tuning.space import Candidate


class Trial(NamedTuple):
    """A candidate at one concurrency: the medians of its measurements there, and how many they are."""

    candidate: Candidate
    times: ClientTimes
    rounds: int


def front(trials: Iterable[Trial]) -> list[Trial]:
    """The trials of which none has more throughput at no more p99, by throughput."""
    ahead: list[Trial] = []
    for trial in sorted(trials, key=lambda trial: (-trial.times.throughput, trial.times.p99_ms)):
        if not ahead or trial.times.p99_ms < ahead[-1].times.p99_ms:
            ahead.append(trial)
    return ahead[::-1]


class Records:
    """The measurements of a search.

    Attributes:
        dropped: why a candidate was given up before it was measured to the end, by candidate.
    """

    def __init__(self) -> None:
        self._measured: dict[tuple[Candidate, int], list[ClientTimes]] = {}
        self.dropped: dict[Candidate, str] = {}

    def add(self, candidate: Candidate, times: ClientTimes) -> None:
        self._measured.setdefault((candidate, times.concurrency), []).append(times)

    def trials(self) -> list[Trial]:
        """Return one for each candidate and concurrency, in the order in which they came."""
        return [Trial(candidate, median_times(times), len(times)) for (candidate, _), times in self._measured.items()]

    def of(self, candidate: Candidate) -> list[Trial]:
        return [trial for trial in self.trials() if trial.candidate == candidate]

    def best_concurrency(self, candidate: Candidate, goal: Goal) -> int:
        """The concurrency of the candidate's best median."""
        return max((trial.times for trial in self.of(candidate)), key=goal.score).concurrency

    def front(self) -> list[Trial]:
        """The front over the candidates that can be used."""
        return front(trial for trial in self.trials() if trial.candidate not in self.dropped)


class Duel:
    """Two candidates measured in turn, so that what the machine does beside slows both.

    Attributes:
        rounds: the times of the candidate and of the one that it is compared with, one right after the other.
    """

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self.rounds: list[tuple[ClientTimes, ClientTimes]] = []

    @property
    def medians(self) -> tuple[ClientTimes, ClientTimes]:
        """The medians of both."""
        ours, theirs = (median_times(times) for times in zip(*self.rounds, strict=True))
        return ours, theirs

    @property
    def counts_throughput(self) -> bool:
        """Return whether the rounds are won by throughput, and not by latency."""
        return self._goal.counts_throughput(holds=self._goal.holds(self.medians[0]))

    @property
    def gain(self) -> float:
        """The ratio of the medians; see :meth:`Goal.gain`."""
        return self._goal.gain(*self.medians)

    @property
    def ratios(self) -> list[float]:
        """The ratio of each round, of what counts for the candidate: throughput or latency."""
        return [ratio(*times, throughput=self.counts_throughput) for times in self.rounds]

    @property
    def ratio(self) -> float:
        """The median of them."""
        return median(self.ratios)

    @property
    def wins(self) -> int:
        return sum(ratio > 1 for ratio in self.ratios)

    @property
    def losses(self) -> int:
        return len(self.rounds) - self.wins
