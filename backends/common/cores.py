"""How many threads an instance computes with."""

from __future__ import annotations

import os

from declared import Model


def thread_share(model: Model) -> int:
    """The instance's share of the cores: instances of one model take batches side by side.

    The cores are those of the process's affinity, which a container or taskset may have narrowed, not the machine's.
    """
    return max(1, len(os.sched_getaffinity(0)) // model.instances)
