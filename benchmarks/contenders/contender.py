"""The contract of a contender, and the names of all of them in tables and results."""

from collections.abc import Sequence
from typing import Protocol

from benchmarks.cells import Cell
from benchmarks.loads import Load
from benchmarks.peers.servers import PEERS

ALL_CORES = "limit, all cores"
ONE_THREAD = "limit, one thread per core"
LIMITS = (ALL_CORES, ONE_THREAD)
ENGINE = "engine, all cores"
ENGINE_ONE_THREAD = "engine, one thread"
ENGINE_EACH_CORE = "engine, one thread per core"
ECHO = "echo"
FUSED = "fused"
LOWER = {"bf16": "fused in bf16", "int8": "fused in int8"}
ENGINE_INT8 = "engine in int8, all cores"
ONE_INSTANCE = "fused, one instance"
DIGITS = "digits, fused"
DRAWN = "drawn"
WHEELS = "drawn, with wheels"
REFERENCE = "reference"
PEER_NAMES = tuple(peer.name for peer in PEERS)


class Contender(Protocol):
    """A program that runs during the whole contest and is measured in every round.

    Attributes:
        name: in tables and in the results.
        about: engine, versions and threads, in words.
        loads: those that it can take.
    """

    name: str
    about: str
    loads: Sequence[Load]

    def warm_up(self, load: Load) -> None:
        """Send the load for a short time: engines plan at the first run of a shape, arenas grow."""

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        """Send the load for ``seconds``, after ``warm_up`` seconds that do not count."""
