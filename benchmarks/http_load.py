"""A light client for HTTP/1.1: plain sockets that stay open, requests made as bytes beforehand."""

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import uvloop

from triton_ensembles.server.sockets import UNIX


@dataclass(frozen=True)
class HttpTarget:
    """An address, ``127.0.0.1:8000`` or ``unix:PATH``, and whole requests as bytes; they are sent one after the other,
    then from the start."""

    address: str
    requests: Sequence[bytes]

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.address.startswith(UNIX):
            return await asyncio.open_unix_connection(self.address.removeprefix(UNIX))
        host, port = self.address.split(":")
        return await asyncio.open_connection(host, int(port))


@dataclass
class Answers:
    """The answers that came within the measured time, first to last.

    Attributes:
        finished: when, in seconds of the monotonic clock.
        latencies: of the same answers, in seconds.
    """

    finished: list[float]
    latencies: list[float]


def post(path: str, headers: dict[str, str], body: bytes) -> bytes:
    """A whole POST request."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def run_load(target: HttpTarget, connections: int, seconds: float, warm_up: float) -> Answers:
    """Send requests over ``connections``, each as soon as the one before it is answered.

    The first ``warm_up`` seconds do not count. Raises RuntimeError for an answer that is not 200.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_load(target, connections, seconds, warm_up))


def request_each(target: HttpTarget) -> list[bytes]:
    """The answers' bodies to all requests, sent once, one after the other. Raises as :func:`run_load` does."""

    async def exchange() -> list[bytes]:
        reader, writer = await target.connect()
        bodies = []
        for request in target.requests:
            writer.write(request)
            bodies.append(await _read_answer(reader))
        writer.close()
        return bodies

    return asyncio.run(exchange())


async def _load(target: HttpTarget, connections: int, seconds: float, warm_up: float) -> Answers:
    answers = Answers([], [])
    requests = itertools.cycle(target.requests)
    begin = time.monotonic() + warm_up
    end = begin + seconds

    async def client() -> None:
        reader, writer = await target.connect()
        try:
            while (started := time.monotonic()) < end:
                writer.write(next(requests))
                await _read_answer(reader)
                finished = time.monotonic()
                if begin <= finished <= end:
                    answers.finished.append(finished)
                    answers.latencies.append(finished - started)
        finally:
            writer.close()
            await writer.wait_closed()

    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(client())
    return answers


async def _read_answer(reader: asyncio.StreamReader) -> bytes:
    """The body of an HTTP/1.1 answer with a Content-Length."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    length = next(int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:"))
    body = await reader.readexactly(length)
    if lines[0].split()[1] != b"200":
        raise RuntimeError(f"{lines[0].decode()}: {body[:500].decode(errors='replace')}")
    return body
