"""Requests to the gateway on the local endpoint while its Triton is killed: which of them fail.

    python -m benchmarks.gateway_kill --requests 100000 --kills 10

Clients send numbers to a small Python model over connections that stay open, each as soon as the one before is
answered, and compare every answer. tritonserver gets SIGKILL at random moments: its container ends, and the endpoint
starts another. A request that was under way may fail. All others must be answered, and rightly.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import aiohttp

from benchmarks.contenders.local_endpoint import NAME, PREFIX, serving
from benchmarks.gateway_model import answer_to, gateway_archive, request_of
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.errors import EnsembleError
from triton_ensembles.processes import children, command_line, descendants
from triton_ensembles.progress import Progress

_LONGEST = 300.0  # seconds that an answer may take: a container starts meanwhile
_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/triton-ensembles-gateway:1"


@dataclass
class Kill:
    """Of a tritonserver; times are those of the monotonic clock."""

    killed: float
    ended: float = float("inf")
    """When its container had."""


@dataclass
class Tally:
    """What became of the requests."""

    answered: int = 0
    """With what was to be expected."""
    before: int = 0
    """Failed, and sent before a kill that came before their end."""
    between: int = 0
    """Failed, and sent after a kill, to the container that was about to end."""
    others: list[str] = field(default_factory=list)
    """Failed, in words."""
    kills: list[Kill] = field(default_factory=list)

    def add_failure(self, sent: float, finished: float, why: str) -> None:
        if any(sent <= each.killed <= finished for each in self.kills):
            self.before += 1
        elif any(sent <= each.ended and each.killed <= finished for each in self.kills):
            self.between += 1
        else:
            self.others.append(why)


@contextmanager
def running_gateway(folder: Path) -> Iterator[LocalEndpoint]:
    """An endpoint whose one container is the gateway's."""
    archive = gateway_archive(folder)
    with serving(folder, [archive], {"Image": _IMAGE, "ModelDataUrl": PREFIX + archive.name}) as local:
        yield local


async def measure(
    local: LocalEndpoint, requests: int, kills: int, connections: int, seed: int, progress: Progress
) -> Tally:
    """Send ``requests`` over ``connections``, with ``kills`` among them."""
    tally, numbers = Tally(), iter(range(requests))
    moments = sorted(random.Random(seed).sample(range(requests // 50, requests), kills), reverse=True)
    url, headers = f"{local.url}/endpoints/{NAME}/invocations", {"Content-Type": "application/json"}

    async def client(session: aiohttp.ClientSession) -> None:
        for number in numbers:
            if moments and number >= moments[-1]:
                moments.pop()
                await _kill(local, tally)
                progress(f"{number} requests sent, {tally.answered} answered: tritonserver killed")
            file, sent = str(number).encode(), time.monotonic()
            async with session.post(url, data=request_of(file), headers=headers) as answer:
                said = await answer.read()
            if answer.status == 200 and json.loads(said) == answer_to(file):
                tally.answered += 1
            else:
                tally.add_failure(sent, time.monotonic(), f"{number}: {answer.status} {said[:300]!r}")

    timeout, connector = aiohttp.ClientTimeout(_LONGEST), aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session, asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(client(session))
    return tally


async def _kill(local: LocalEndpoint, tally: Tally) -> None:
    """Kill the tritonserver of the container that runs, or that runs next."""
    while not (found := _container(local)):
        await asyncio.sleep(0.05)
    container, triton = found
    handle, loop = os.pidfd_open(container), asyncio.get_running_loop()
    killed = Kill(time.monotonic())
    os.kill(triton, signal.SIGKILL)
    tally.kills.append(killed)

    def note() -> None:
        killed.ended = time.monotonic()
        loop.remove_reader(handle)
        os.close(handle)

    loop.add_reader(handle, note)  # it is readable when the process has ended


def _container(local: LocalEndpoint) -> tuple[int, int] | None:
    """The process ids of the container's entry point and of its tritonserver."""
    for pid in descendants(local.pid):
        if "triton_ensembles.gateway" in command_line(pid):
            for child in children(pid):
                return pid, child
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000, help="how many are sent (100000)")
    parser.add_argument("--kills", type=int, default=10, help="how often tritonserver is killed (10)")
    parser.add_argument("--connections", type=int, default=8, help="how many clients send them (8)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (0)")
    options = parser.parse_args()
    progress: Progress = partial(print, flush=True)
    try:
        with tempfile.TemporaryDirectory(prefix="gateway-kill-") as folder, running_gateway(Path(folder)) as local:
            began = time.monotonic()
            tally = asyncio.run(
                measure(local, options.requests, options.kills, options.connections, options.seed, progress)
            )
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    print(
        f"{options.requests} requests over {options.connections} connections in {time.monotonic() - began:.0f} s, "
        f"tritonserver killed {len(tally.kills)} times: {tally.answered} answered, {tally.before} failed that were "
        f"under way, {tally.between} that reached the container before it had ended, {len(tally.others)} others failed"
    )
    if tally.others:
        sys.exit("\n".join(tally.others[:20]))


if __name__ == "__main__":
    main()
