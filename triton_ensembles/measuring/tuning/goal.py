"""The goal of a search: throughput within a bound of the latency, or the least latency at a throughput."""

from dataclasses import dataclass

from triton_ensembles.measuring.perf.analyzer import ClientTimes


@dataclass(frozen=True)
class Goal:
    """A goal of the search: one of the two is set.

    With ``p99_ms``, the throughput of a setting is that of the concurrency that gives most of it within the bound; with
    ``throughput``, its latency is the least at which it is reached.
    """

    p99_ms: float | None = None
    throughput: float | None = None

    def holds(self, times: ClientTimes) -> bool:
        """Return whether they are within the bound of the latency, or of the throughput."""
        if self.p99_ms is not None:
            return times.p99_ms <= self.p99_ms
        assert self.throughput is not None
        return times.throughput >= self.throughput

    def counts_throughput(self, *, holds: bool) -> bool:
        """Return whether the better of two measurements, which hold the bound or do not, has more throughput;
        otherwise it has a lower p99."""
        return holds == (self.p99_ms is not None)

    def score(self, times: ClientTimes) -> tuple[bool, float]:
        """The better of two measurements has the higher score."""
        holds = self.holds(times)
        return holds, times.throughput if self.counts_throughput(holds=holds) else -times.p99_ms

    def direction(self, times: ClientTimes) -> int:
        """Return whether better measurements are at a higher concurrency (1) or at a lower one (-1)."""
        return 1 if self.counts_throughput(holds=self.holds(times)) else -1

    def gain(self, times: ClientTimes, reference: ClientTimes) -> float:
        """The gain over a reference: a ratio of throughput or of latency; infinite or 0 where only one of them is
        within the bound."""
        if self.holds(times) != self.holds(reference):
            return float("inf") if self.holds(times) else 0.0
        return ratio(times, reference, throughput=self.counts_throughput(holds=self.holds(times)))

    def __str__(self) -> str:
        if self.p99_ms is not None:
            return f"p99 within {self.p99_ms:g} ms"
        return f"at least {self.throughput:g} inferences/s"


def ratio(times: ClientTimes, reference: ClientTimes, *, throughput: bool) -> float:
    """Return how many times the throughput of the reference this is, or as low a p99."""
    if throughput:
        return times.throughput / reference.throughput if reference.throughput else float("inf")
    return reference.p99_ms / times.p99_ms if times.p99_ms else float("inf")
