"""How many requests a second a model gets, over the last minutes."""

import time
from collections.abc import Callable

SLOT_SECONDS = 5
SLOTS = 60


class Rate:
    """Counts in slots of time. It may be read in another thread. ``clock``: seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._latest = self._slot()  # the slot that the last request fell into
        self._counts = [0] * SLOTS  # of slot S at S modulo SLOTS

    def count(self) -> None:
        """Add a request that comes now."""
        slot = self._slot()
        for passed in range(max(self._latest + 1, slot - SLOTS + 1), slot + 1):
            self._counts[passed % SLOTS] = 0
        self._latest = slot
        self._counts[slot % SLOTS] += 1

    def recent(self) -> list[float]:
        """Requests a second in each slot that has ended, the oldest first; [] when there was none in any."""
        now = self._slot()
        slots = range(now - SLOTS + 1, now)
        counts = [self._counts[slot % SLOTS] if slot <= self._latest else 0 for slot in slots]
        return [count / SLOT_SECONDS for count in counts] if any(counts) else []

    def _slot(self) -> int:
        return int(self._clock() // SLOT_SECONDS)
