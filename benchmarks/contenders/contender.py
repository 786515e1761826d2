"""What every contender can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from benchmarks.cells import Cell
from benchmarks.loads import Load


class Contender(Protocol):
    """Started once, measured in every round, stopped at the end.

    Attributes:
        name: in tables and in the results.
        about: what it is, in words: engine, versions, threads. Complete once it runs.
    """

    name: str
    about: str

    def loads(self) -> Sequence[Load]:
        """What it can be put under."""

    def start(self) -> None: ...

    def warm_up(self, load: Load) -> None:
        """Let it see the load once: engines plan at the first run of a shape, arenas grow."""

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        """Put it under the load for ``seconds``, after ``warm_up`` seconds that do not count."""

    def stop(self) -> None: ...
