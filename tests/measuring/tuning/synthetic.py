"""A measured function instead of a server: a closed loop on a machine whose time passes only here."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from triton_ensembles.measuring.tuning.goal import Point
from triton_ensembles.measuring.tuning.search import RejectedError
from triton_ensembles.measuring.tuning.space import Candidate, Value

LOAD_SECONDS, POINT_SECONDS = 3.0, 2.5


@dataclass
class SyntheticBench:
    """Measures ``capacity(values)`` requests a second, each of which takes at least 10 ms.

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

    def measure(self, candidate: Candidate, concurrency: int) -> Point:
        assert candidate in self.loaded
        if self.interrupt_after is not None and len(self.measured) >= self.interrupt_after:
            raise KeyboardInterrupt
        self.now += POINT_SECONDS
        self.measured.append((candidate, concurrency))
        capacity = self.capacity(candidate.as_dict())
        throughput = min(concurrency / 0.01, capacity) * self._error()
        latency = max(10.0, 1000 * concurrency / capacity)
        return Point(concurrency, throughput, latency, latency * 1.3 * self._error())

    def _error(self) -> float:
        return 1 + self._random.uniform(-self.noise, self.noise)
