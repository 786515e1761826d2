"""Processor time and memory by process, read from /proc: who uses the cores that client, server and steps share."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.processes import command_line, descendants

_TICKS = os.sysconf("SC_CLK_TCK")
_STUB = "triton_python_backend_stub"
_WEIGHTS = "/model.weights"  # what backends/onnxruntime/weights_gate.py maps


@dataclass(frozen=True)
class Memory:
    """Bytes of PSS, in which a shared page counts once among its sharers; and the parts of it that no file backs, and
    that are mapped weights."""

    pss: int
    anonymous: int
    weights: int


def seconds_of(pid: int, *, with_ended_children: bool = False) -> float:
    """User and system time of the process so far, its ended threads included; 0 when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime, stime, cutime and cstime are the fields 14 to 17 of the whole line
    return sum(map(int, fields[11 : 15 if with_ended_children else 13])) / _TICKS


def seconds_by_process(pid: int) -> dict[str, float]:
    """Processor time of a server and its children: the Python steps of a tritonserver by name, the rest "server"."""
    found: dict[str, float] = {}
    for each in (pid, *descendants(pid)):
        name = _step(command_line(each)) or "server"
        found[name] = found.get(name, 0.0) + seconds_of(each)
    return found


def memory_of(pid: int) -> Memory:
    """What a server and its children take together; processes that have ended count as nothing."""
    sizes = dict.fromkeys(("pss", "anonymous", "weights"), 0)
    for each in (pid, *descendants(pid)):
        with suppress(OSError):
            for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
                name, _, value = line.partition(":")
                if part := {"Pss": "pss", "Pss_Anon": "anonymous"}.get(name):
                    sizes[part] += int(value.split()[0]) * 1024
            sizes["weights"] += _mapped_weights(each)
    return Memory(**sizes)


def _mapped_weights(pid: int) -> int:
    """The bytes of PSS of the weights that a process has mapped."""
    size, inside = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(_WEIGHTS)
        elif inside and line.startswith("Pss:"):
            size += int(line.split()[1]) * 1024
    return size


def cores(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Cores in use on average between two readings of processor time that are ``seconds`` apart."""
    return {name: round((value - before.get(name, 0.0)) / seconds, 3) for name, value in after.items()}


def _step(command: str) -> str:
    """The step that a stub serves: the last word but one of its command line is ENSEMBLE.STEP_GROUP_NUMBER."""
    words = command.split()
    if len(words) < 2 or not words[0].endswith(_STUB):
        return ""
    return re.sub(r"_\d+_\d+$", "", words[-2]).rpartition(".")[2]
