"""The processes of the models in one container: the stubs of their steps, and whatever these have started.

A stub's command line has the path of its model.py, so it shows the model: <root>/models/<hash>/model/<step>/1/model.py.
The server is the parent of every process whose own parent has ended (as in AWS's container, where it is the first
process); which model such a process belongs to is known from an earlier look.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from triton_ensembles.processes import command_line, families, handles, proportional_set_size, send

_MODEL = re.compile(r"/models/(?P<hash>[0-9a-f]{32})/model/")
_KEPT_SECONDS = 3.0  # meanwhile only others that share its pages may have come or gone
_START = 19  # of the fields of /proc/PID/stat after the name: the time of the start


@dataclass(frozen=True)
class Usage:
    """What a container uses at one moment.

    Attributes:
        total: bytes of the server and all its processes (PSS).
        of_models: bytes of each model's own processes, by hash.
        stubs: how many stubs of each model run, by hash.
    """

    total: int = 0
    of_models: Mapping[str, int] = field(default_factory=dict)
    stubs: Mapping[str, int] = field(default_factory=dict)


class _Size(NamedTuple):
    """Of a process: what the kernel counts as its pages, when it was measured, and its PSS then."""

    pages: bytes
    at: float
    bytes: int


class ModelProcesses:
    """Finds out which model a process of the server with the id ``server`` belongs to."""

    def __init__(self) -> None:
        self._owners: dict[tuple[int, str], str] = {}
        self._sizes: dict[int, _Size] = {}

    def find(self, server: int) -> dict[str, list[int]]:
        """The processes of each model by hash; under "" those that no model is known for. Stubs come first."""
        found: dict[str, list[int]] = {}
        owners: dict[tuple[int, str], str] = {}
        for family in families(server):
            child = family[0]
            stub = _MODEL.search(command_line(child))
            hash = stub["hash"] if stub else self._owners.get((child, _start(child)), "")
            owners |= {(pid, _start(pid)): hash for pid in family if hash}
            found.setdefault(hash, []).extend(family)
        self._owners = owners
        return found

    def usage(self, server: int) -> Usage:
        found = self.find(server)
        self._sizes = {pid: self._measured(pid) for pids in found.values() for pid in pids}
        sizes = {hash: sum(self._sizes[pid].bytes for pid in pids) for hash, pids in found.items()}
        stubs = {hash: sum(map(is_stub, pids)) for hash, pids in found.items() if hash}
        total = sum(sizes.values()) + proportional_set_size([server])
        return Usage(total, {hash: size for hash, size in sizes.items() if hash}, stubs)

    def _measured(self, pid: int) -> _Size:
        """Its size, which is not measured again at once where it has neither taken nor returned a page.

        The kernel walks all pages of a process for it: with a hundred models, that is a tenth of a second of a core.
        """
        pages, now, known = _pages(pid), time.monotonic(), self._sizes.get(pid)
        if known and known.pages == pages and now - known.at < _KEPT_SECONDS:
            return known
        return _Size(pages, now, proportional_set_size([pid]))

    def end_orphans(self) -> None:
        """End what is left of the processes of a server that has ended, as far as an earlier look has found them."""
        with handles(pid for pid, start in self._owners if _start(pid) == start) as left:
            send(left, signal.SIGKILL)
        self._owners = {}


def is_stub(pid: int) -> bool:
    """Whether this process is a running stub."""
    return _MODEL.search(command_line(pid)) is not None  # one that has ended has no command line


def _pages(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/statm").read_bytes()
    except OSError:
        return b""


def _start(pid: int) -> str:
    """When it started, which tells it from a later process with the same id; "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[_START]
    except OSError:
        return ""
