"""The client that the benchmarks send with."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from benchmarks.http_load import HttpTarget, post, run_load_until_answered

TAKES = 0.1  # seconds to an answer


@pytest.fixture
def slow() -> Iterator[HttpTarget]:
    """A server on a thread of its own."""
    loop = asyncio.new_event_loop()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(TAKES)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    host, port = server.sockets[0].getsockname()
    yield HttpTarget(host, port, [post(host, port, "/", {}, b"")])
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    server.close()
    loop.close()


def test_a_window_is_doubled_until_an_answer_comes_within_it(slow: HttpTarget) -> None:
    """Otherwise a comparison ends in the middle on a slow machine."""
    answers = run_load_until_answered(slow, 1, TAKES / 4, 0)
    assert answers.seconds >= TAKES / 2
    assert len(answers.finished) >= 1
    assert min(answers.latencies) >= TAKES
