"""The front of latency against throughput: the measurements that no other one beats in both."""

from collections.abc import Iterable
from typing import NamedTuple

from triton_ensembles.measuring.tuning.goal import Point
from triton_ensembles.measuring.tuning.space import Candidate


class Trial(NamedTuple):
    """A candidate at one concurrency: the medians of its measurements there, and how many they are."""

    candidate: Candidate
    point: Point
    rounds: int


def front(trials: Iterable[Trial]) -> list[Trial]:
    """The trials of which none has more throughput at no more p99, by throughput."""
    ahead: list[Trial] = []
    for trial in sorted(trials, key=lambda each: (-each.point.throughput, each.point.p99_ms)):
        if not ahead or trial.point.p99_ms < ahead[-1].point.p99_ms:
            ahead.append(trial)
    return ahead[::-1]
