"""Memory of a tritonserver by process: PSS, in which a shared page counts once among its sharers."""

from __future__ import annotations

import re

from triton_ensembles.processes import command_line, descendants, proportional_set_size

_STUB = "triton_python_backend_stub"


def memory_by_process(pid: int) -> dict[str, int]:
    """Bytes of "tritonserver" and of each step by its name, the instances of a step together."""
    found: dict[str, int] = {}
    for each in (pid, *descendants(pid)):
        words = command_line(each).split()
        stub = len(words) > 2 and words[0].endswith(_STUB)
        name = re.sub(r"_\d+_\d+$", "", words[-2]) if stub else "tritonserver"
        found[name] = found.get(name, 0) + proportional_set_size([each])
    return found
