"""How much Python a call runs: a measure that no busy machine changes."""

from collections.abc import Callable
from cProfile import Profile


def calls_of(run: Callable[[], object]) -> int:
    """The number of functions, those in C too, that ``run`` calls."""
    profile = Profile()
    profile.runcall(run)
    return sum(entry.callcount for entry in profile.getstats())
