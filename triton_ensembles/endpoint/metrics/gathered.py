"""Values on their way to where they are counted: by series, so that many are added up at once.

To add each value to three statistics takes longer than to route the request that it is about.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

_MOST = 1000  # values of one series that wait


class Series(NamedTuple):
    """What the values are of; "" where that says nothing."""

    name: str
    endpoint: str
    variant: str
    target_model: str
    instance: str


class Gathered:
    """Values that wait. None is lost, and none waits into the next minute once another one has come.

    Args:
        count: takes the values of a series, in the order in which they came, and their minute (of time.time()).
    """

    def __init__(self, count: Callable[[Series, Sequence[float], int], None]) -> None:
        self._count = count
        self._waiting: dict[Series, list[float]] = {}
        self._minute = 0

    def add(self, series: Series, value: float) -> None:
        minute = int(time.time()) // 60
        if minute != self._minute:
            self.flush()
            self._minute = minute
        values = self._waiting.get(series)
        if values is None:
            values = self._waiting[series] = []
        values.append(value)
        if len(values) >= _MOST:
            self.flush()

    def flush(self) -> None:
        """Have everything counted. To be called before anybody looks."""
        waiting, self._waiting = self._waiting, {}
        for series, values in waiting.items():
            self._count(series, values, self._minute)
