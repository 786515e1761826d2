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
from typing import NamedTuple

from triton_ensembles.ground import processes
from triton_ensembles.ground.processes import Process, command_line, proportional_set_size

_MODEL = re.compile(r"/models/(?P<hash>[0-9a-f]{32})/model/")
_KEPT_SECONDS = 3.0  # meanwhile only others that share its pages may have come or gone


@dataclass(frozen=True)
class Usage:
    """The memory and processes of a container at one moment."""

    total: int = 0  # bytes of the server and all its processes (PSS)
    of_models: Mapping[str, int] = field(default_factory=dict)  # bytes of each model's own processes, by hash
    stubs: Mapping[str, int] = field(default_factory=dict)  # how many of each model run, by hash


class _Size(NamedTuple):
    """The size of a process: the kernel's count of its pages, the time of the measurement, and its PSS then."""

    pages: bytes
    at: float
    bytes: int


class ModelProcesses:
    """Finds out which model a process of the server (by its id) belongs to."""

    def __init__(self) -> None:
        self._owners: dict[Process, str] = {}
        self._stubs: set[Process] = set()
        self._sizes: dict[int, _Size] = {}

    def find(self, server: int) -> dict[str, list[int]]:
        """The processes of each model by hash; under "" those that no model is known for. Stubs come first."""
        return {hash: [member.id for member in members] for hash, members in self._find(server).items()}

    def usage(self, server: int) -> Usage:
        by_hash = self._find(server)
        self._sizes = {member.id: self._measured(member.id) for members in by_hash.values() for member in members}
        sizes = {hash: sum(self._sizes[member.id].bytes for member in members) for hash, members in by_hash.items()}
        stubs = {hash: sum(map(self._is_stub, members)) for hash, members in by_hash.items() if hash}
        total = sum(sizes.values()) + proportional_set_size([server])
        return Usage(total, {hash: size for hash, size in sizes.items() if hash}, stubs)

    def _find(self, server: int) -> dict[str, list[Process]]:
        """As :meth:`find`. Of a known stub that runs, the command line is not read again: there may be hundreds.

        Once the server has ended its processes are another's children: none are found, and those known stay known.
        """
        by_hash: dict[str, list[Process]] = {}
        owners: dict[Process, str] = {}
        stubs: set[Process] = set()
        for family in processes.families(server):
            child = family[0]
            hash = self._owners.get(child._replace(ended=False), "")
            if child in self._stubs:
                stubs.add(child)
            elif stub := _MODEL.search(command_line(child.id)):
                stubs.add(child)
                hash = stub["hash"]
            owners |= {process._replace(ended=False): hash for process in family if hash}
            by_hash.setdefault(hash, []).extend(family)
        if processes.has_ended(server):
            return {}
        self._owners, self._stubs = owners, stubs
        return by_hash

    def _is_stub(self, process: Process) -> bool:
        return process in self._stubs or (not process.ended and is_stub(process.id))

    def _measured(self, pid: int) -> _Size:
        """The size of a process, not measured again at once where it has neither taken nor returned a page.

        The kernel walks all pages of a process for it: with a hundred models, that is a tenth of a second of a core.
        """
        pages, now, known = _pages(pid), time.monotonic(), self._sizes.get(pid)
        if known and known.pages == pages and now - known.at < _KEPT_SECONDS:
            return known
        return _Size(pages, now, proportional_set_size([pid]))

    def end_orphans(self) -> None:
        """End what is left of the processes of a server that has ended, as far as an earlier look has found them."""
        with processes.handles(owner.id for owner in self._owners if processes.is_there(owner)) as orphans:
            processes.send(orphans, signal.SIGKILL)
        self._owners = {}


def is_stub(pid: int) -> bool:
    """Return whether this process is a running stub."""
    return _MODEL.search(command_line(pid)) is not None  # one that has ended has no command line


def _pages(pid: int) -> bytes:
    try:
        return processes.short_file(pid, "statm")
    except OSError:
        return b""
