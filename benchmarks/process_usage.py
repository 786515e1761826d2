"""Processor time: who uses the cores that client, server and steps share."""

from typing import NamedTuple

from triton_ensembles.ground.processes import descendants
from triton_ensembles.hosting.cpu import processor_seconds


def seconds_of_all(pid: int) -> float:
    """Add up the processor time of a server and of its children."""
    return sum(map(processor_seconds, (pid, *descendants(pid))))


class Usage(NamedTuple):
    """Seconds of processor time of the client and of all other processes, or the cores that they use on average."""

    client: float
    others: float

    def cores(self, before: "Usage", seconds: float) -> "Usage":
        """Compute the cores from this and an earlier reading, ``seconds`` before."""
        return Usage(*(round((now - then) / seconds, 3) for now, then in zip(self, before, strict=True)))
