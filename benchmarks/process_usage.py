"""Processor time by process, read from /proc: who uses the cores that client, server and steps share.

Memory is read by :func:`triton_ensembles.ground.processes.memory_parts`.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.ground.processes import command_line, descendants

_TICKS = os.sysconf("SC_CLK_TCK")
_STUB = "triton_python_backend_stub"


def seconds_of(pid: int, *, with_ended_children: bool = False) -> float:
    """User and system time of the process so far, in seconds, its ended threads included; 0 when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime, stime, cutime and cstime are the fields 14 to 17 of the whole line
    return sum(map(int, fields[11 : 15 if with_ended_children else 13])) / _TICKS


def seconds_by_process(pid: int) -> dict[str, float]:
    """Processor time of a server and its children: the Python steps of a tritonserver by name, the rest "server"."""
    times: dict[str, float] = {}
    for process in (pid, *descendants(pid)):
        name = _step(command_line(process)) or "server"
        times[name] = times.get(name, 0.0) + seconds_of(process)
    return times


def cores(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Cores in use on average between two readings of processor time that are ``seconds`` apart."""
    return {name: round((value - before.get(name, 0.0)) / seconds, 3) for name, value in after.items()}


def _step(command: str) -> str:
    """The step that a stub serves: the last word but one of its command line is ENSEMBLE.STEP_GROUP_NUMBER."""
    words = command.split()
    if len(words) < 2 or not words[0].endswith(_STUB):
        return ""
    return re.sub(r"_\d+_\d+$", "", words[-2]).rpartition(".")[2]
