"""How much Python a call runs: a measure that no busy machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls_of(run: Callable[[], object]) -> int:
    """The calls and returns of Python functions, of those in C too, that ``run`` takes."""
    count = 0

    def trace(_frame: object, _event: str, _value: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(trace)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count
