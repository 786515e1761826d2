"""What the container is sent, and what callers get when it answers slowly, partly or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.endpoint.hosting.conftest import eventually
from triton_ensembles.endpoint.hosting.errors import InternalFailure
from triton_ensembles.endpoint.hosting.request import Invocation, Pieces, Reply
from triton_ensembles.endpoint.hosting.triton_api import ContainerAnswered, ContainerDied, TritonApi

pytestmark = pytest.mark.anyio

HEAD = b"HTTP/1.1 200 OK\r\n"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Container(TestServer):
    """Answers every request with its body; ``/broken`` breaks off in the middle of a long answer."""

    def __init__(self) -> None:
        application = web.Application(client_max_size=1 << 30)
        application.router.add_post("/broken", self.broken)
        application.router.add_post("/507", self.full)
        application.router.add_route("*", "/{path:.*}", self.echo)
        super().__init__(application, host="127.0.0.1")

    async def echo(self, request: web.Request) -> web.Response:
        self.sent = dict(request.headers)
        return web.Response(body=await request.read(), headers={"X-Own": "secret"}, content_type="x/y")

    async def full(self, request: web.Request) -> web.Response:
        return web.json_response({"error": "out of memory"}, status=507)

    async def broken(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000000"})
        await response.prepare(request)
        await response.write(b"x" * 1000)
        assert request.transport is not None
        request.transport.close()
        return response


class Peer:
    """A server that reads requests and answers them, byte for byte, as the test says."""

    def __init__(self) -> None:
        self.open = 0
        self.answer: Serve = echo

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            await self.answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.open -= 1


async def body_of_request(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(int(line[15:]) for line in head.splitlines() if line.startswith("Content-Length:"))
    return await reader.readexactly(length)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        body = await body_of_request(reader)
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


def answering(*pieces: bytes, until: asyncio.Event | None = None) -> Serve:
    """Reads a request, writes these, and closes the connection, or waits before."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await body_of_request(reader)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if until is not None:
            await until.wait()

    return serve


@pytest.fixture
async def container(anyio_backend: object) -> AsyncIterator[Container]:
    async with Container() as server:
        yield server


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A container's log in which nothing stands."""
    (path := tmp_path / "log").touch()
    return path


@pytest.fixture
async def api(container: Container, log: Path) -> AsyncIterator[TritonApi]:
    made = TritonApi(f"127.0.0.1:{container.port}", log)
    yield made
    made.close()


@pytest.fixture
async def peer(anyio_backend: object, log: Path) -> AsyncIterator[tuple[Peer, TritonApi]]:
    made = Peer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    api = TritonApi(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", log)
    yield made, api
    api.close()
    server.close()
    await server.wait_closed()


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def send(api: TritonApi, body: bytes = b"x", seconds: float = 10) -> Reply:
    return await api.invoke("/invocations", Invocation(body), seconds)


async def echoed(api: TritonApi, body: bytes) -> bytes:
    reply = await send(api, body)
    assert isinstance(reply.body, bytes)
    return reply.body


async def test_the_clients_headers_go_to_the_container_and_no_others(api: TritonApi, container: Container) -> None:
    given = {"Content-Type": "a/b;c=1", "Accept": "x/*", "X-Amzn-SageMaker-Inference-Id": "id-7"}
    request = Invocation(b"abc", "m.tar.gz", given)
    reply = await api.invoke("/models/h/invoke", request, 10)
    assert container.sent.pop("Host")
    assert container.sent == given | {"X-Amzn-SageMaker-Target-Model": "m.tar.gz", "Content-Length": "3"}
    assert (reply.status, reply.body, reply.headers) == (200, b"abc", {"Content-Type": "x/y"})
    assert reply.content_length == 3
    await api.invoke("/invocations", Invocation(b""), 10)
    assert set(container.sent) <= {"Host", "Content-Length"}


async def test_bodies_in_pieces_are_sent_with_their_length(api: TritonApi, container: Container) -> None:
    request = Invocation(pieces(b"ab", b"c"), content_length=3)
    assert (await api.invoke("/invocations", request, 10)).body == b"abc"
    assert container.sent["Content-Length"] == "3"
    assert "Transfer-Encoding" not in container.sent


async def test_a_507_is_reported_with_its_message(api: TritonApi) -> None:
    with pytest.raises(ContainerAnswered, match="out of memory") as caught:
        await api.invoke("/507", Invocation(b""), 10)
    assert caught.value.status == 507


async def test_an_answer_that_breaks_off_is_an_error_and_not_a_short_answer(
    api: TritonApi, container: Container
) -> None:
    reply = await api.invoke("/broken", Invocation(b""), 10)
    assert isinstance(reply.body, Pieces)
    with pytest.raises(InternalFailure, match="answer broke off"):
        async for _ in reply.body:
            pass
    await container.close()
    with pytest.raises(ContainerDied):
        await send(api)


@pytest.mark.parametrize(
    "answer", [b"", HEAD + b"Content-Le", b"SSH-2.0-OpenSSH\r\n\r\n", HEAD + b"Content-Length: 9\r\n\r\nab"]
)
async def test_an_incomplete_answer_means_that_the_container_died(peer: tuple[Peer, TritonApi], answer: bytes) -> None:
    server, api = peer

    server.answer = answering(answer)
    with pytest.raises(ContainerDied):
        await send(api)
    server.answer = echo
    assert await echoed(api, b"x") == b"x"


async def test_an_answer_of_unknown_length_arrives_in_pieces(peer: tuple[Peer, TritonApi]) -> None:
    server, api = peer

    server.answer = answering(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"2\r\nab\r\n", b"1\r\nc\r\n0\r\n\r\n")
    reply = await send(api)
    assert reply.content_length is None
    assert isinstance(reply.body, Pieces)
    assert b"".join([piece async for piece in reply.body]) == b"abc"


async def test_a_long_answer_that_nobody_reads_stays_with_the_server(peer: tuple[Peer, TritonApi]) -> None:
    """Otherwise a slow client would make the platform keep the whole answer in memory."""
    server, api = peer
    sent = 0

    async def much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await body_of_request(reader)
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % (64 << 20))
        for _ in range(64):
            writer.write(b"x" * (1 << 20))
            await writer.drain()
            sent += 1

    server.answer = much
    reply = await send(api)
    assert isinstance(reply.body, Pieces)
    await asyncio.sleep(0.5)
    assert sent < 32
    assert sum([len(piece) async for piece in reply.body]) == 64 << 20


async def test_an_answer_that_does_not_arrive_in_time_is_a_timeout(peer: tuple[Peer, TritonApi]) -> None:
    server, api = peer

    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await body_of_request(reader)
        for piece in HEAD + b"Content-Length: 1000\r\n\r\n", *[b"x"] * 1000:
            writer.write(piece)
            await asyncio.sleep(0.05)

    server.answer = half
    began = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        await send(api, seconds=0.3)
    assert asyncio.get_running_loop().time() - began < 25  # the whole answer takes 50 s
    server.answer = echo
    assert await echoed(api, b"mine") == b"mine"


async def test_a_long_answer_that_stops_arriving_is_an_error(peer: tuple[Peer, TritonApi]) -> None:
    server, api = peer
    done = asyncio.Event()

    server.answer = answering(HEAD + b"Content-Length: 1000000\r\n\r\nx", until=done)
    reply = await send(api, seconds=1)
    assert isinstance(reply.body, Pieces)
    with pytest.raises(InternalFailure, match="answer broke off: TimeoutError"):
        async for _ in reply.body:
            pass
    done.set()


async def test_after_close_every_call_fails_though_a_server_listens_there(peer: tuple[Peer, TritonApi]) -> None:
    """By then another server may have the port, and it knows nothing of what the first one had loaded."""
    server, api = peer
    release = asyncio.Event()

    server.answer = answering(until=release)
    waiting = [asyncio.create_task(send(api)) for _ in range(2)]
    await eventually(lambda: server.open == 2)
    connecting = asyncio.create_task(send(api))
    await asyncio.sleep(0)
    api.close()
    for each in (*waiting, connecting):
        with pytest.raises(ContainerDied):
            await each
    with pytest.raises(ContainerDied):
        await send(api)
    release.set()


async def test_close_ends_an_answer_that_is_being_read(peer: tuple[Peer, TritonApi]) -> None:
    """A Python process of the dead server may still hold the connection open."""
    server, api = peer
    release = asyncio.Event()

    async def stuck(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = int(await body_of_request(reader))
        writer.write(HEAD + b"Content-Length: %d\r\n\r\nx" % length)
        await release.wait()

    server.answer = stuck
    reply = await send(api, b"1000000", seconds=600)
    assert isinstance(reply.body, Pieces)
    assert await anext(reply.body) == b"x"
    reading = asyncio.ensure_future(anext(reply.body))
    whole = asyncio.create_task(send(api, b"10", seconds=600))
    await eventually(lambda: server.open == 2)
    await asyncio.sleep(0.1)
    api.close()
    with pytest.raises(InternalFailure, match="answer broke off"):
        await reading
    with pytest.raises(ContainerDied):
        await whole
    release.set()
