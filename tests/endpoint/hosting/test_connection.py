"""Connections to the container: kept open, never shared by two requests, and never trusted after something broke."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.endpoint.hosting.conftest import eventually
from triton_ensembles.endpoint.hosting.connection import Connections

pytestmark = pytest.mark.anyio

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Peer:
    """A server that reads requests of the form of ours and answers as told."""

    def __init__(self) -> None:
        self.accepted = 0
        self.answer: Serve = echo

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            await self.answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def body_of_request(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(int(line[15:]) for line in head.splitlines() if line.startswith("Content-Length:"))
    return await reader.readexactly(length)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        body = await body_of_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


@pytest.fixture
async def peer(anyio_backend: object) -> AsyncIterator[tuple[Peer, Connections]]:
    made = Peer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    connections = Connections("127.0.0.1", server.sockets[0].getsockname()[1])
    yield made, connections
    connections.close()
    server.close()
    await server.wait_closed()


async def ask(connections: Connections, body: bytes = b"x") -> bytes:
    return await (await connections.ask("POST", "/", {}, body)).read()


async def test_one_connection_after_another_request_and_one_each_at_once(peer: tuple[Peer, Connections]) -> None:
    """Otherwise each request would pay for a connection, or get the answer of another."""
    server, connections = peer
    for number in range(5):
        assert await ask(connections, b"%d" % number) == b"%d" % number
    assert server.accepted == 1
    answers = await asyncio.gather(*(ask(connections, b"%d" % number * 10_000) for number in range(8)))
    assert answers == [b"%d" % number * 10_000 for number in range(8)]
    assert server.accepted <= 8


async def test_a_request_that_was_given_up_does_not_leave_its_answer_to_the_next(
    peer: tuple[Peer, Connections],
) -> None:
    server, connections = peer

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = await body_of_request(reader)
        await asyncio.sleep(0.3)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await echo(reader, writer)

    server.answer = slowly
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await ask(connections, b"late")
    assert await ask(connections, b"mine") == b"mine"
    assert server.accepted == 2


async def test_a_connection_that_the_server_has_closed_meanwhile_is_not_used(peer: tuple[Peer, Connections]) -> None:
    server, connections = peer

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + await body_of_request(reader))

    server.answer = once
    for _ in range(3):
        assert await ask(connections) == b"x"
        await eventually(lambda: not connections._open)  # until its end has come
    assert server.accepted == 3


async def test_closed_connections_stay_closed_though_somebody_listens_there(peer: tuple[Peer, Connections]) -> None:
    """Another server may have the port by then, and knows nothing of what the first one had loaded."""
    _, connections = peer
    assert await ask(connections) == b"x"
    asking = [asyncio.create_task(ask(connections)) for _ in range(2)]  # one of them has to connect first
    await asyncio.sleep(0)
    connections.close()
    for each in await asyncio.gather(*asking, return_exceptions=True):
        assert isinstance(each, ConnectionError)
    with pytest.raises(ConnectionError, match="closed"):
        await ask(connections)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
    ],
)
async def test_an_answer_that_is_no_whole_answer_is_an_error(peer: tuple[Peer, Connections], said: bytes) -> None:
    server, connections = peer

    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await body_of_request(reader)
        writer.write(said)

    server.answer = broken
    with pytest.raises(ConnectionError):
        await ask(connections)
    server.answer = echo
    assert await ask(connections) == b"x"


async def test_an_answer_in_chunks_is_one_body(peer: tuple[Peer, Connections]) -> None:
    server, connections = peer

    async def chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await body_of_request(reader)
        for piece in (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2\r\nab\r\n", b"1\r\nc\r\n0\r\n\r\n"):
            writer.write(piece)
            await asyncio.sleep(0.01)

    server.answer = chunks
    assert await ask(connections) == b"abc"


async def test_more_than_one_answer_is_not_left_to_the_next_request(peer: tuple[Peer, Connections]) -> None:
    server, connections = peer

    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = await body_of_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%bHTTP/1.1 200 OK\r\nContent-" % body)
        await body_of_request(reader)
        writer.write(b"Length: 4\r\n\r\nlate")

    server.answer = twice
    await asyncio.gather(ask(connections, b"a"), return_exceptions=True)
    server.answer = echo
    assert await ask(connections, b"b") == b"b"


async def test_a_long_answer_that_nobody_reads_stays_with_the_server(peer: tuple[Peer, Connections]) -> None:
    """Otherwise a slow client would have the platform hold whatever the model says."""
    server, connections = peer
    sent = 0

    async def much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await body_of_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (64 << 20))
        for _ in range(64):
            writer.write(b"x" * (1 << 20))
            await writer.drain()
            sent += 1

    server.answer = much
    answer = await connections.ask("POST", "/", {})
    await asyncio.sleep(0.5)
    assert sent < 32
    length = 0
    while piece := await answer.piece(5):
        length += len(piece)
    assert length == 64 << 20


async def test_an_answer_that_does_not_come_in_time_is_a_timeout(peer: tuple[Peer, Connections]) -> None:
    server, connections = peer

    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await body_of_request(reader)
        for piece in b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", *[b"x"] * 100:
            writer.write(piece)
            await asyncio.sleep(0.05)

    server.answer = half
    began = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        await (await connections.ask("POST", "/", {}, seconds=0.3)).read()
    assert asyncio.get_running_loop().time() - began < 5  # all of it takes longer than that
    server.answer = echo
    assert await ask(connections, b"mine") == b"mine"
