"""What the container is sent, and what callers get when it answers slowly, partly or not at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.hosting.conftest import whole
from tests.processes import eventually
from triton_ensembles.hosting.errors import InternalFailure
from triton_ensembles.hosting.request import Invocation, Pieces, Reply
from triton_ensembles.hosting.triton_api import ContainerDied, TritonApi

pytestmark = pytest.mark.anyio

HEAD = b"HTTP/1.1 200 OK\r\n"


class Peer:
    """A server that reads requests and answers them, byte for byte, as the test says: by default with their body."""

    def __init__(self) -> None:
        self.port = self.open = self.written = 0  # connections, and bytes of ``answer_with``
        self.sent: dict[str, str] = {}  # the headers of the latest request
        self.release = asyncio.Event()
        self.answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]] = self.echo

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            await self.answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.open -= 1

    async def read(self, reader: asyncio.StreamReader) -> bytes:
        """The body of the next request."""
        _, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        self.sent = dict(line.split(": ", 1) for line in lines if line)
        return await reader.readexactly(int(self.sent.get("Content-Length", 0)))

    async def echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            body = await self.read(reader)
            writer.write(HEAD + b"X-Own: secret\r\nContent-Type: x/y\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def answer_with(self, *pieces: bytes, waits: bool = False) -> None:
        """Write these after each request, and close the connection, or wait for ``release`` before."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self.read(reader)
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                self.written += len(piece)
            if waits:
                await self.release.wait()

        self.answer = answer


@pytest.fixture
async def peer(anyio_backend: object) -> AsyncIterator[Peer]:
    made = Peer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    made.release.set()
    server.close()
    await server.wait_closed()


@pytest.fixture
async def api(peer: Peer, tmp_path: Path) -> AsyncIterator[TritonApi]:
    (tmp_path / "log").touch()
    made = TritonApi(f"127.0.0.1:{peer.port}", tmp_path / "log")
    yield made
    made.close()


async def send(api: TritonApi, body: bytes = b"x", seconds: float = 10) -> Reply:
    return await api.invoke("/invocations", Invocation(body), seconds)


async def test_the_clients_headers_go_to_the_container_and_no_others(peer: Peer, api: TritonApi) -> None:
    given = {"Content-Type": "a/b;c=1", "Accept": "x/*", "X-Amzn-SageMaker-Inference-Id": "id-7"}
    reply = await api.invoke("/models/h/invoke", Invocation(b"abc", "m.tar.gz", given), 10)
    assert peer.sent.pop("Host")
    assert peer.sent == given | {"X-Amzn-SageMaker-Target-Model": "m.tar.gz", "Content-Length": "3"}
    assert (reply.status, reply.body, reply.headers) == (200, b"abc", {"Content-Type": "x/y"})
    assert reply.content_length == 3
    await send(api, b"")
    assert set(peer.sent) <= {"Host", "Content-Length"}


async def test_a_connection_is_used_again_unless_the_server_has_ended_it(peer: Peer, api: TritonApi) -> None:
    """Otherwise each request waits for a connection of its own, or one fails after each that the server gives up."""
    peer.answer_with(HEAD + b"Content-Length: 1\r\n\r\ny")
    assert (await send(api)).body == b"y"
    await eventually(lambda: not peer.open)
    await asyncio.sleep(0.1)  # until the end of the connection has come
    peer.answer = peer.echo
    for _ in range(3):
        assert (await send(api)).body == b"x"
    assert peer.open == 1


@pytest.mark.parametrize(
    "answer", [b"", HEAD + b"Content-Le", b"SSH-2.0-OpenSSH\r\n\r\n", HEAD + b"Content-Length: 9\r\n\r\nab"]
)
async def test_an_incomplete_answer_means_that_the_container_died(peer: Peer, api: TritonApi, answer: bytes) -> None:
    peer.answer_with(answer)
    with pytest.raises(ContainerDied):
        await send(api)
    peer.answer = peer.echo
    assert (await send(api)).body == b"x"


async def test_an_answer_of_unknown_length_arrives_in_pieces(peer: Peer, api: TritonApi) -> None:
    peer.answer_with(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"2\r\nab\r\n", b"1\r\nc\r\n0\r\n\r\n")
    reply = await send(api)
    assert reply.content_length is None and isinstance(reply.body, Pieces)
    assert await whole(reply) == b"abc"


async def test_a_long_answer_that_nobody_reads_stays_with_the_server(peer: Peer, api: TritonApi) -> None:
    """Otherwise a slow client would make the platform keep the whole answer in memory."""
    peer.answer_with(HEAD + b"Content-Length: %d\r\n\r\n" % (64 << 20), *[bytes(1 << 20)] * 64)
    reply = await send(api)
    await asyncio.sleep(0.5)
    assert peer.written < 32 << 20
    assert len(await whole(reply)) == 64 << 20


@pytest.mark.parametrize(("waits", "reason"), [(False, ""), (True, ": TimeoutError")])
async def test_a_long_answer_that_breaks_off_or_stops_arriving_is_an_error_and_not_a_short_answer(
    peer: Peer, api: TritonApi, waits: bool, reason: str
) -> None:
    peer.answer_with(HEAD + b"Content-Length: 1000000\r\n\r\nx", waits=waits)
    reply = await send(api, seconds=1)
    with pytest.raises(InternalFailure, match=f"answer broke off{reason}"):
        await whole(reply)


async def test_after_close_every_call_fails_though_a_server_listens_there(peer: Peer, api: TritonApi) -> None:
    """By then another server may have the port, and it knows nothing of what the first one had loaded."""
    peer.answer_with(waits=True)
    calls = [asyncio.create_task(send(api)) for _ in range(2)]
    await eventually(lambda: peer.open == 2)
    calls.append(asyncio.create_task(send(api)))
    await asyncio.sleep(0)  # it is connecting
    api.close()
    for call in calls:
        with pytest.raises(ContainerDied):
            await call
    with pytest.raises(ContainerDied):
        await send(api)


async def test_close_ends_an_answer_that_is_being_read(peer: Peer, api: TritonApi) -> None:
    """A Python process of the dead server may still hold the connection open."""
    peer.answer_with(HEAD + b"Content-Length: 1000000\r\n\r\nx", waits=True)
    reply = await send(api, seconds=600)
    assert isinstance(reply.body, Pieces)
    assert await anext(reply.body) == b"x"
    reading = asyncio.ensure_future(anext(reply.body))
    peer.answer_with(HEAD + b"Content-Length: 10\r\n\r\nx", waits=True)
    short = asyncio.create_task(send(api, seconds=600))
    await eventually(lambda: peer.open == 2)
    await asyncio.sleep(0.1)
    api.close()
    with pytest.raises(InternalFailure, match="answer broke off"):
        await reading
    with pytest.raises(ContainerDied):
        await short
