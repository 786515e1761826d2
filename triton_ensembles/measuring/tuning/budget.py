"""The time that a search may take."""

import time
from collections.abc import Callable


class BudgetSpentError(Exception):
    """There is no time left for what would come next."""


class Budget:
    """A number of seconds from now on.

    Args:
        clock: gives the time in seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._start, self.seconds = clock, clock(), seconds

    @property
    def spent(self) -> float:
        return self._clock() - self._start

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    def demand(self, seconds: float) -> None:
        """Raises :class:`BudgetSpentError` if less is left."""
        if seconds > self.left:
            raise BudgetSpentError
