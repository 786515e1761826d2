"""Load over HTTP/1.1 by the host's own light client, over connections that stay open."""

import asyncio
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import uvloop

from triton_ensembles.hosting.http_client import Connections


class Post(NamedTuple):
    """A POST request."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class HttpTarget:
    """An address, ``127.0.0.1:8000`` or ``unix:PATH``, and requests, which are sent one after the other, then from the
    start."""

    address: str
    requests: Sequence[Post]


@dataclass
class Answers:
    """The answers that came within the measured time, first to last.

    Attributes:
        finished: when, in seconds of the monotonic clock.
        latencies: of the same answers, in seconds.
    """

    finished: list[float]
    latencies: list[float]


def run_load(target: HttpTarget, connections: int, seconds: float, warm_up: float) -> Answers:
    """Send requests over ``connections``, each as soon as the one before it is answered.

    The first ``warm_up`` seconds do not count. Raises RuntimeError for an answer that is not 200.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_load(target, connections, seconds, warm_up))


def request_each(target: HttpTarget) -> list[bytes]:
    """The answers' bodies to all requests, sent once, one after the other. Raises as :func:`run_load` does."""

    async def exchange() -> list[bytes]:
        connections = Connections(target.address, {})
        return [await _answer(connections, request) for request in target.requests]

    return asyncio.run(exchange())


async def _load(target: HttpTarget, clients: int, seconds: float, warm_up: float) -> Answers:
    answers = Answers([], [])
    connections, requests = Connections(target.address, {}), itertools.cycle(target.requests)
    begin = time.monotonic() + warm_up
    end = begin + seconds

    async def client() -> None:
        while (started := time.monotonic()) < end:
            await _answer(connections, next(requests))
            finished = time.monotonic()
            if begin <= finished <= end:
                answers.finished.append(finished)
                answers.latencies.append(finished - started)

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())
    connections.close()
    return answers


async def _answer(connections: Connections, request: Post) -> bytes:
    answer = await connections.request("POST", *request)
    body = await answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {body[:500].decode(errors='replace')}")
    return body
