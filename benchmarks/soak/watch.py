"""Looks at a running endpoint: memory, open files, threads, processes, and how long its other APIs take."""

import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.processes import command_line, descendants, memory_parts

ROLES = ("platform", "s3", "tritonserver", "stubs")
_CONTAINER = ("tritonserver", "stubs")


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
    """Looks at a local endpoint and all its processes."""

    def __init__(self, local: LocalEndpoint, endpoint: str) -> None:
        self._local, self._began = local, time.monotonic()
        sagemaker = local.client("sagemaker")
        self._calls: dict[str, Callable[[], Any]] = {
            "DescribeEndpoint": lambda: sagemaker.describe_endpoint(EndpointName=endpoint),
            "ListModels": sagemaker.list_models,
            "ListEndpoints": sagemaker.list_endpoints,
            "status page": lambda: self._get("/"),
            "/metrics": lambda: self._get("/metrics"),
        }

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
            calls={name: _seconds(call) for name, call in self._calls.items()},
        )

    def _roles(self) -> dict[str, list[int]]:
        """The process ids by role."""
        roles: dict[str, list[int]] = {role: [] for role in ROLES}
        for pid in (self._local.pid, *descendants(self._local.pid)):
            command = command_line(pid)
            if " -m triton_ensembles endpoint " in command:  # with the keeper that ends what it leaves behind
                roles["platform"].append(pid)
            elif ".serve" in command:  # the process that serves S3
                roles["s3"].append(pid)
            elif "/tritonserver" in command.partition(" ")[0] and not roles["tritonserver"]:
                roles["tritonserver"].append(pid)
            elif command:
                roles["stubs"].append(pid)  # at first with the program of the tritonserver that started it
        return roles

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(self._local.url + path) as answer:
            body: bytes = answer.read()
            return body


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
