"""The measurements of a search, their front, and the candidates that were dropped."""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from triton_ensembles.measuring.tuning.goal import Goal, Point, median_point
from triton_ensembles.measuring.tuning.space import Candidate


class Trial(NamedTuple):
    """A candidate at one concurrency: the medians of its measurements there, and how many they are."""

    candidate: Candidate
    point: Point
    rounds: int


def front(trials: Iterable[Trial]) -> list[Trial]:
    """The trials of which none has more throughput at no more p99, by throughput."""
    ahead: list[Trial] = []
    for trial in sorted(trials, key=lambda trial: (-trial.point.throughput, trial.point.p99_ms)):
        if not ahead or trial.point.p99_ms < ahead[-1].point.p99_ms:
            ahead.append(trial)
    return ahead[::-1]


class Records:
    """The measurements of a search.

    Attributes:
        dropped: why a candidate was given up before it was measured to the end, by candidate.
    """

    def __init__(self) -> None:
        self._points: dict[tuple[Candidate, int], list[Point]] = {}
        self.dropped: dict[Candidate, str] = {}

    def add(self, candidate: Candidate, point: Point) -> None:
        self._points.setdefault((candidate, point.concurrency), []).append(point)

    def trials(self) -> list[Trial]:
        """Return one for each candidate and concurrency, in the order in which they came."""
        return [Trial(candidate, median_point(points), len(points)) for (candidate, _), points in self._points.items()]

    def of(self, candidate: Candidate) -> list[Trial]:
        return [trial for trial in self.trials() if trial.candidate == candidate]

    def best_concurrency(self, candidate: Candidate, goal: Goal) -> int:
        """The concurrency of the candidate's best median."""
        return max((trial.point for trial in self.of(candidate)), key=goal.score).concurrency

    def front(self) -> list[Trial]:
        """The front over the candidates that can be used."""
        return front(trial for trial in self.trials() if trial.candidate not in self.dropped)


class Duel:
    """Two candidates measured in turn, so that what the machine does beside slows both.

    Attributes:
        points, references: of the candidate and of the one that it is compared with, a pair for each round.
    """

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self.points: list[Point] = []
        self.references: list[Point] = []

    def add(self, point: Point, reference: Point) -> None:
        self.points.append(point)
        self.references.append(reference)

    @property
    def gain(self) -> float:
        """The ratio of the medians; see :meth:`Goal.gain`."""
        return self._goal.gain(self.points, self.references)

    @property
    def ratios(self) -> list[float]:
        """The ratio of each round, of what counts for the candidate: throughput or latency."""
        if not self.points:
            return []
        holds = self._goal.holds(median_point(self.points))
        pairs = zip(self.points, self.references, strict=True)
        return [self._goal.ratio(point, present, holds=holds) for point, present in pairs]

    @property
    def ratio(self) -> float:
        """The median of them."""
        return median(self.ratios)

    @property
    def wins(self) -> int:
        return sum(ratio > 1 for ratio in self.ratios)

    @property
    def losses(self) -> int:
        return len(self.points) - self.wins
