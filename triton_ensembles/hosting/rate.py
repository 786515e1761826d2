"""How many requests a second a model gets, over the last minutes."""

import time
from collections.abc import Callable

SLOT_SECONDS = 5
SLOTS = 60


class Rate:
    """Counts in slots of time. It may be read in another thread. ``clock``: seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[int, int] = {}  # by slot, the oldest first

    def count(self) -> None:
        """Add a request that comes now."""
        slot = self._slot()
        self._counts[slot] = self._counts.get(slot, 0) + 1
        if len(self._counts) > SLOTS:
            del self._counts[next(iter(self._counts))]

    def recent(self) -> list[float]:
        """Requests a second in each slot that has ended, the oldest first; [] when there was none in any."""
        now = self._slot()
        counts = [self._counts.get(slot, 0) for slot in range(now - SLOTS + 1, now)]
        return [count / SLOT_SECONDS for count in counts] if any(counts) else []

    def _slot(self) -> int:
        return int(self._clock() // SLOT_SECONDS)
