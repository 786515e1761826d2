"""Processor time by process group, out of /proc: who uses the cores that client, server and steps share."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.processes import command_line, descendants

_TICKS = os.sysconf("SC_CLK_TCK")
_STUB = "triton_python_backend_stub"


def seconds_of(pid: int) -> float:
    """User and system time of the process so far, its ended threads included; 0 when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS  # utime and stime are the 14th and 15th of all


def by_process(pid: int) -> dict[str, float]:
    """Of a server and its children: the Python steps of a tritonserver by name, instances together; else "server"."""
    found: dict[str, float] = {}
    for each in (pid, *descendants(pid)):
        name = _step(command_line(each)) or "server"
        found[name] = found.get(name, 0.0) + seconds_of(each)
    return found


def cores(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Cores in use between two readings."""
    return {name: round((value - before.get(name, 0.0)) / seconds, 3) for name, value in after.items()}


def _step(command: str) -> str:
    """The step that a stub serves: the last word but one of its command line is ENSEMBLE.STEP_GROUP_NUMBER."""
    words = command.split()
    if len(words) < 2 or not words[0].endswith(_STUB):
        return ""
    return re.sub(r"_\d+_\d+$", "", words[-2]).rpartition(".")[2]
