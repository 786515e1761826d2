"""Looks at what is under load: memory, open files, threads, processes, and how long its other APIs take."""

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.soak.subjects import Form, Subject
from triton_ensembles.ground.processes import command_line, descendants, memory_parts

ROLES = ("platform", "s3", "tritonserver", "stubs")
_CONTAINER = ("tritonserver", "stubs")
_SAMPLE = (2, 6)  # models that are loaded for the measurement of what one takes


@dataclass(frozen=True)
class Sample:
    """One look, ``seconds`` since the beginning; the mappings are by role, but for ``calls``, seconds by API.

    Attributes:
        server: process id of tritonserver, 0 while there is none.
        container: bytes (PSS) of tritonserver and its stubs, which is what the budget is for.
        resident: bytes that no file backs (anonymous memory).
    """

    seconds: float
    answered: int
    server: int
    container: int
    resident: dict[str, int]
    files: dict[str, int]
    threads: dict[str, int]
    processes: dict[str, int]
    calls: dict[str, float]


class Watch:
    """Looks at what is under load and all its processes."""

    def __init__(self, subject: Subject) -> None:
        self._subject, self._began = subject, time.monotonic()

    def look(self, answered: int) -> Sample:
        roles = self._roles()
        memory = {role: memory_parts(pids) for role, pids in roles.items()}
        return Sample(
            seconds=time.monotonic() - self._began,
            answered=answered,
            server=next(iter(roles["tritonserver"]), 0),
            container=sum(sum(memory[role]) for role in _CONTAINER),
            resident={role: anonymous for role, (anonymous, _) in memory.items()},
            files={role: _count(pids, "fd") for role, pids in roles.items()},
            threads={role: _count(pids, "task") for role, pids in roles.items()},
            processes={role: len(pids) for role, pids in roles.items()},
            calls={name: _seconds(call) for name, call in self._subject.calls.items()},
        )

    def _roles(self) -> dict[str, list[int]]:
        """The process ids by role."""
        roles: dict[str, list[int]] = {role: [] for role in ROLES}
        for pid in (self._subject.pid, *descendants(self._subject.pid)):
            command = command_line(pid)
            if re.search(
                r" -m triton_ensembles (endpoint|host) ", command
            ):  # with the keeper that ends what it leaves behind
                roles["platform"].append(pid)
            elif ".serve" in command:  # the process that serves S3
                roles["s3"].append(pid)
            elif "/tritonserver" in command.partition(" ")[0] and not roles["tritonserver"]:
                roles["tritonserver"].append(pid)
            elif command:
                roles["stubs"].append(pid)  # at first with the program of the tritonserver that started it
        return roles


@dataclass(frozen=True)
class Memory:
    """Bytes (PSS) of a container without models, and of each loaded model."""

    server: int
    model: int

    def budget(self, models: float) -> int:
        return int(self.server + models * self.model)


def memory_of(form: Form, folder: Path, archives: Sequence[Path]) -> Memory:
    """Load the first few of the archives, and then more."""
    few, many = _SAMPLE
    with form(folder / "measured", archives[:many], "64G") as subject:
        watch, ask = Watch(subject), subject.client()
        sizes = []
        for number in range(many):
            ask(number, 0.0)
            if number + 1 in _SAMPLE:
                sizes.append(watch.look(number).container)
    model = (sizes[1] - sizes[0]) // (many - few)
    return Memory(sizes[0] - few * model, model)


def _count(pids: Sequence[int], folder: str) -> int:
    """The entries of /proc/PID/FOLDER of all these processes; those that have ended have none."""
    entries = 0
    for pid in pids:
        with suppress(OSError):
            entries += sum(1 for _ in Path(f"/proc/{pid}/{folder}").iterdir())
    return entries


def _seconds(call: Callable[[], Any]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began
