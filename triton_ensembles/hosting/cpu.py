"""The processor time of a container."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")  # per second


class CpuMeter:
    """Percent of one core that processes have used since the last look, as CloudWatch's CPUUtilization counts."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._looked = time.monotonic()

    def look(self, pids: Iterable[int]) -> float:
        """For several cores it may exceed 100. A process that has ended in between counts no more."""
        now, seconds = time.monotonic(), {pid: processor_seconds(pid) for pid in pids}
        used = sum(max(0.0, value - self._seconds.get(pid, 0.0)) for pid, value in seconds.items())
        elapsed, self._looked, self._seconds = now - self._looked, now, seconds
        return 100 * used / max(elapsed, 1 / _TICKS)


def family_seconds(pids: Iterable[int]) -> float:
    """Processor seconds of these processes so far, and of their children that have ended."""
    return sum(processor_seconds(pid, fields=4) for pid in pids)


def processor_seconds(pid: int, fields: int = 2) -> float:
    """Seconds of a process with all its threads; 0 when it has ended.

    proc(5): utime, stime, cutime and cstime are fields 14 to 17; the last two are of children that have ended.
    """
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11 : 11 + fields])) / _TICKS
