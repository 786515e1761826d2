"""Percentiles of the last requests, for the status page."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

_KEPT = 1000  # values of one model


@dataclass(frozen=True)
class Percentiles:
    """Milliseconds, of the last ``count`` values."""

    count: int
    p50: float
    p90: float
    p99: float


class Latencies:
    """Values by endpoint, variant, target model and metric."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str, str, str], deque[float]] = {}

    def record(self, endpoint: str, variant: str, target_model: str, name: str, microseconds: Iterable[float]) -> None:
        key = (endpoint, variant, target_model, name)
        if key not in self._held:
            self._held[key] = deque(maxlen=_KEPT)
        self._held[key].extend(microseconds)

    def of(self, endpoint: str, variant: str, target_model: str, name: str) -> Percentiles | None:
        values = self._held.get((endpoint, variant, target_model, name))
        return percentiles(values) if values else None

    def models(self, endpoint: str, variant: str) -> list[str]:
        """The target models with any value."""
        return sorted({key[2] for key in self._held if key[:2] == (endpoint, variant)})

    def forget(self, endpoint: str) -> None:
        for key in [key for key in self._held if key[0] == endpoint]:
            del self._held[key]


def percentiles(microseconds: Iterable[float]) -> Percentiles:
    """Each is the smallest value that so many percent of the values do not exceed."""
    values = sorted(microseconds)
    p50, p90, p99 = (values[max(0, -(-len(values) * part // 100) - 1)] / 1000 for part in (50, 90, 99))
    return Percentiles(len(values), p50, p90, p99)
