"""How many cores this process may use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Those of the process's affinity, which a container or taskset may have narrowed, not those of the machine."""
    return len(os.sched_getaffinity(0))
