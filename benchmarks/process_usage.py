"""Processor time, read from /proc: who uses the cores that client, server and steps share.

Memory is read by :func:`triton_ensembles.ground.processes.memory_parts`.
"""

import os
from pathlib import Path
from typing import NamedTuple

from triton_ensembles.ground.processes import descendants

_TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of(pid: int, *, with_ended_children: bool = False) -> float:
    """User and system time of the process so far, in seconds, its ended threads included; 0 when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime, stime, cutime and cstime are the fields 14 to 17 of the whole line
    return sum(map(int, fields[11 : 15 if with_ended_children else 13])) / _TICKS


def seconds_of_all(pid: int) -> float:
    """Add up the processor time of a server and of its children."""
    return sum(map(seconds_of, (pid, *descendants(pid))))


class Usage(NamedTuple):
    """Seconds of processor time of the client and of all other processes, or the cores that they use on average."""

    client: float
    others: float

    def cores(self, before: "Usage", seconds: float) -> "Usage":
        """Compute the cores from this and an earlier reading, ``seconds`` before."""
        return Usage(*(round((now - then) / seconds, 3) for now, then in zip(self, before, strict=True)))
