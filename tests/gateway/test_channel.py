"""Calls over the gateway's own channel, answered by a gRPC server in C++."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest

from triton_ensembles.gateway.channel import Channel
from triton_ensembles.gateway.http2 import INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAVAILABLE, Lost, RpcError

pytestmark = pytest.mark.anyio
SERVICE = "test.Service"
ANY = {"grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """For all tests: gRPC has one thread for all servers, which may still call the event loop of the one before."""
    yield


class Service(grpc.GenericRpcHandler):
    """Methods by name: Echo, Refuse, Wait."""

    def __init__(self) -> None:
        self.waiting, self.canceled = asyncio.Event(), asyncio.Event()

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        own = getattr(self, details.method.removeprefix(f"/{SERVICE}/"), None)
        return grpc.unary_unary_rpc_method_handler(own) if own else None

    async def Echo(self, message: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        return message

    async def Refuse(self, message: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, message.decode())
        raise AssertionError

    async def Wait(self, message: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        self.waiting.set()
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            self.canceled.set()
            raise
        return message


class Served:
    def __init__(self, options: dict[str, int]) -> None:
        self.service, self.server = Service(), grpc.aio.server(options=list((ANY | options).items()))
        self.server.add_generic_rpc_handlers((self.service,))
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.channel = Channel(f"127.0.0.1:{self.port}", SERVICE)


@pytest.fixture(params=[{}])
async def served(request: pytest.FixtureRequest) -> AsyncIterator[Served]:
    made = Served(request.param)
    await made.server.start()
    yield made
    made.channel.close()
    await made.server.stop(None)


@pytest.mark.parametrize("served", [{}, {"grpc.http2.max_frame_size": 16384}], indirect=True)
async def test_messages_of_every_size_come_back_also_many_at_a_time(served: Served) -> None:
    sizes = [0, 1, 16379, 16384, 65530, 65535, 100_000, 5_000_000, 20_000_000]
    for size in sizes:
        message = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        assert await served.channel.call("Echo", message) == message
    answers = await asyncio.gather(*(served.channel.call("Echo", b"%d" % each * 50_000) for each in range(70)))
    assert answers == [b"%d" % each * 50_000 for each in range(70)]


@pytest.mark.parametrize("said", ["no such input", "süß: 100 %\n – \u2028", "long " * 20_000])
async def test_an_error_comes_with_its_status_and_message(served: Served, said: str) -> None:
    with pytest.raises(RpcError) as caught:
        await served.channel.call("Refuse", said.encode())
    assert (caught.value.status, caught.value.message) == (INVALID_ARGUMENT, said)
    assert await served.channel.call("Echo", b"next") == b"next"


@pytest.mark.parametrize("served", [{"grpc.max_receive_message_length": 1000}], indirect=True)
async def test_an_answer_that_comes_before_the_message_has_left_ends_the_call(served: Served) -> None:
    for _ in range(3):
        with pytest.raises(RpcError) as caught:
            await served.channel.call("Echo", bytes(30_000_000))
        assert caught.value.status == RESOURCE_EXHAUSTED
        assert await served.channel.call("Echo", b"next") == b"next"


async def test_a_call_that_is_given_up_is_canceled_at_the_server(served: Served) -> None:
    call = asyncio.ensure_future(served.channel.call("Wait", b""))
    await served.service.waiting.wait()
    call.cancel()
    async with asyncio.timeout(60):
        await served.service.canceled.wait()
    assert await served.channel.call("Echo", b"next") == b"next"


@pytest.mark.parametrize("served", [{"grpc.max_connection_age_ms": 20}], indirect=True)
async def test_connections_that_the_server_retires_fail_no_call(served: Served) -> None:
    async def client() -> None:
        for number in range(100):
            assert await served.channel.call("Echo", b"%d" % number) == b"%d" % number
            await asyncio.sleep(0.002)

    await asyncio.gather(*(client() for _ in range(4)))


async def test_a_server_that_is_gone_is_said_so(served: Served) -> None:
    call = asyncio.ensure_future(served.channel.call("Wait", b""))
    await served.service.waiting.wait()
    await served.server.stop(None)
    with pytest.raises(RpcError) as caught:
        await call
    assert caught.value.status == UNAVAILABLE
    with pytest.raises(Lost, match="no connection"):
        await served.channel.call("Echo", b"")


async def test_what_does_not_speak_grpc_is_said_so() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    channel = Channel(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", SERVICE)
    with pytest.raises(Lost, match="does not speak HTTP/2"):
        await channel.call("Echo", b"")
    server.close()
