"""Python steps whose process has ended while the server completes their configs, as of a crash at an import.

tritonserver 2.51.0 waits for such a process for ever, and says nothing; of one that ends later, it says so.
"""

import contextlib
import time
from collections.abc import Sequence

from triton_ensembles.ground.processes import Process, command_line, families, short_file

_STUB = b"triton_python_b"  # the name of its process, as the kernel cuts it
_SECONDS = 6.0  # that a process has ended before it counts: the server takes note of others at once


class EndedStubs:
    """Those that the process ``server`` starts from now on, each with the time of the first look at which it had ended.
    Of a model that is loaded again, the process of the version before still runs."""

    def __init__(self, server: int) -> None:
        self._server, self._earlier = server, frozenset[tuple[int, int]]()
        self._earlier = frozenset((process.id, process.start) for process in self._members())
        self._since: dict[Process, float] = {}

    def stuck(self, loads: Sequence[str]) -> list[str]:
        """Return those of ``loads``, the names of models that the server still loads, that will never end, with the
        reason."""
        members, now = self._members(), time.monotonic()
        self._since = {process: self._since.get(process, now) for process in members if _is_ended_stub(process)}
        if not any(now - since >= _SECONDS for since in self._since.values()):
            return []
        running = [command_line(process.id) for process in members if not process.ended]
        return [
            f"{model}: its Python process ended, by a crash or an exit, while model.py was imported"
            for model in loads
            if not any(f"/{model.rpartition('::')[2]}/" in line for line in running)
        ]

    def _members(self) -> list[Process]:
        members = (process for family in families(self._server) for process in family)
        return [process for process in members if (process.id, process.start) not in self._earlier]


def _is_ended_stub(process: Process) -> bool:
    with contextlib.suppress(OSError):
        return process.ended and short_file(process.id, "comm").strip() == _STUB
    return False
