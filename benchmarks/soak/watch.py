"""What the endpoint takes all the while: memory, open files, threads, processes; and how long its other APIs take."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.process_usage import memory_of
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.processes import command_line, descendants

ROLES = ("platform", "s3", "tritonserver", "stubs")


@dataclass(frozen=True)
class Sample:
    """One look: ``seconds`` since the beginning; by role, how much there is.

    Attributes:
        server: process id of tritonserver, 0 while there is none.
        container: bytes (PSS) of tritonserver and its stubs, which is what the budget is for.
        resident: bytes that belong to processes of a role alone (anonymous memory).
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
        roles, server = self._roles(), self.server
        return Sample(
            seconds=time.monotonic() - self._began,
            answered=answered,
            server=server,
            container=memory_of(server).pss if server else 0,
            resident={role: sum(map(_anonymous, pids)) for role, pids in roles.items()},
            files={role: sum(_count(pid, "fd") for pid in pids) for role, pids in roles.items()},
            threads={role: sum(_count(pid, "task") for pid in pids) for role, pids in roles.items()},
            processes={role: len(pids) for role, pids in roles.items()},
            calls={name: _timed(call) for name, call in self._calls.items()},
        )

    @property
    def server(self) -> int:
        """The process id of its tritonserver, 0 while there is none."""
        servers = [pid for pid in descendants(self._local.pid) if "/tritonserver" in _program(pid)]
        return max(servers, key=lambda pid: len(descendants(pid)), default=0)  # a stub has its program, too, at first

    def _roles(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {role: [] for role in ROLES}
        for pid in (self._local.pid, *descendants(self._local.pid)):
            program = command_line(pid)
            if " -m triton_ensembles endpoint " in program:  # with the keeper that ends what it leaves behind
                found["platform"].append(pid)
            elif "endpoint.aws_services.serve" in program:
                found["s3"].append(pid)
            elif "/tritonserver" in _program(pid):
                found["tritonserver"].append(pid)
            elif program:
                found["stubs"].append(pid)
        return found

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(self._local.url + path) as answer:
            body: bytes = answer.read()
            return body


def _program(pid: int) -> str:
    return command_line(pid).partition(" ")[0]


def _count(pid: int, what: str) -> int:
    with suppress(OSError):  # it has ended
        return sum(1 for _ in Path(f"/proc/{pid}/{what}").iterdir())
    return 0


def _anonymous(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def _timed(call: Callable[[], Any]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began
