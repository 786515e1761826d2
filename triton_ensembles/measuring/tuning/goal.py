"""The goal of a search: throughput within a bound of the latency, or the least latency at a throughput."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Point:
    """A measurement of an ensemble.

    Attributes:
        concurrency: the number of concurrent requests.
        throughput: inferences (rows, not requests) per second.
        p50_ms, p99_ms: percentiles of the latency, in milliseconds.
    """

    concurrency: int
    throughput: float
    p50_ms: float
    p99_ms: float

    def __str__(self) -> str:
        return f"{self.throughput:.1f} inferences/s, p99 {self.p99_ms:.1f} ms at {self.concurrency}"


def median_point(points: Sequence[Point]) -> Point:
    """The medians of several measurements at one concurrency."""
    columns = ([getattr(point, name) for point in points] for name in ("throughput", "p50_ms", "p99_ms"))
    return Point(points[0].concurrency, *map(median, columns))


@dataclass(frozen=True)
class Goal:
    """At least one of the two is set.

    With ``p99_ms``, the throughput of a setting is that of the concurrency that gives most of it within the bound; with
    ``throughput`` alone, its latency is the least at which it is reached. With both, a search may end as soon as both
    are met.
    """

    p99_ms: float | None = None
    throughput: float | None = None

    def holds(self, point: Point) -> bool:
        """Return whether the point is within the bound: of the latency if there is one, else of the throughput."""
        if self.p99_ms is not None:
            return point.p99_ms <= self.p99_ms
        assert self.throughput is not None
        return point.throughput >= self.throughput

    def is_met(self, point: Point) -> bool:
        """Return whether there is nothing left to search for: a latency and a throughput are required, and reached."""
        return self.p99_ms is not None and self.throughput is not None and self.reached(point)

    def reached(self, point: Point) -> bool:
        """Return whether the point has all that is required."""
        return self.holds(point) and point.throughput >= (self.throughput or 0)

    def score(self, point: Point) -> tuple[bool, float]:
        """The better of two points has the higher score."""
        holds = self.holds(point)
        return holds, point.throughput if holds == (self.p99_ms is not None) else -point.p99_ms

    def direction(self, point: Point) -> int:
        """Return whether better points are at a higher concurrency (1) or at a lower one (-1)."""
        return 1 if self.holds(point) == (self.p99_ms is not None) else -1

    def gain(self, points: Sequence[Point], references: Sequence[Point]) -> float:
        """The gain of the medians of ``points`` over those of ``references``.

        It is a ratio of throughput or of latency; infinite or 0 where only one of them is within the bound.
        """
        point, reference = median_point(points), median_point(references)
        if self.holds(point) != self.holds(reference):
            return float("inf") if self.holds(point) else 0.0
        return self.ratio(point, reference, holds=self.holds(point))

    def ratio(self, point: Point, reference: Point, *, holds: bool) -> float:
        """The gain of a point over a reference, by what counts where both are within the bound or neither."""
        if holds == (self.p99_ms is not None):
            return point.throughput / reference.throughput if reference.throughput else float("inf")
        return reference.p99_ms / point.p99_ms if point.p99_ms else float("inf")

    def measures_throughput(self, points: Sequence[Point]) -> bool:
        """Return whether :meth:`gain` of such points is a ratio of throughput, and not of latency."""
        return self.holds(median_point(points)) == (self.p99_ms is not None)

    def __str__(self) -> str:
        words = []
        if self.p99_ms is not None:
            words.append(f"p99 within {self.p99_ms:g} ms")
        if self.throughput is not None:
            words.append(f"at least {self.throughput:g} inferences/s")
        return " and ".join(words)
