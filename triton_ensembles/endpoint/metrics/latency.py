"""Percentiles of the most recent requests, for the status page."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import quantiles

_KEPT = 1000  # values of one model


@dataclass(frozen=True)
class Percentiles:
    """Milliseconds, of the last ``count`` values."""

    count: int
    p50: float
    p90: float
    p99: float


class Latencies:
    """Recent values (microseconds) by endpoint, variant, target model and metric."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str, str, str], deque[float]] = {}

    def record(self, endpoint: str, variant: str, target_model: str, name: str, microseconds: float) -> None:
        key = (endpoint, variant, target_model, name)
        if key not in self._values:
            self._values[key] = deque(maxlen=_KEPT)
        self._values[key].append(microseconds)

    def of(self, endpoint: str, variant: str, target_model: str, name: str) -> Percentiles | None:
        """None where there is no value yet."""
        values = self._values.get((endpoint, variant, target_model, name))
        return percentiles(values) if values else None

    def forget(self, endpoint: str) -> None:
        for key in [key for key in self._values if key[0] == endpoint]:
            del self._values[key]


def percentiles(microseconds: Iterable[float]) -> Percentiles:
    """Percentiles of one value or more, interpolated between neighbors."""
    values = list(microseconds)
    cuts = quantiles(values, n=100, method="inclusive") if len(values) > 1 else values * 99
    return Percentiles(len(values), cuts[49] / 1000, cuts[89] / 1000, cuts[98] / 1000)
