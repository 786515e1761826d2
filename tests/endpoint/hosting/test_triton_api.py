"""What the container is sent: InvokeEndpoint's own headers and no other, and the length of every body."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from triton_ensembles.endpoint.hosting import InternalFailure, Invocation
from triton_ensembles.endpoint.hosting.triton_api import ContainerAnswered, ContainerDied, TritonApi

pytestmark = pytest.mark.anyio


class Container(TestServer):
    """Answers every request with what it was sent; ``/broken`` breaks off in the middle of a long answer."""

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


@pytest.fixture
async def container(anyio_backend: object) -> AsyncIterator[Container]:
    async with Container() as server:
        yield server


@pytest.fixture
async def api(container: Container) -> AsyncIterator[TritonApi]:
    made = TritonApi(f"127.0.0.1:{container.port}")
    yield made
    made.close()


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_the_clients_headers_go_to_the_container_and_no_others(api: TritonApi, container: Container) -> None:
    request = Invocation(b"abc", "m.tar.gz", "a/b;c=1", "x/*", "trace=1", "id-7")
    reply = await api.invoke("/models/h/invoke", request, 10, 0)
    assert container.sent.pop("Host")
    assert container.sent == {
        "Content-Type": "a/b;c=1",
        "Accept": "x/*",
        "X-Amzn-SageMaker-Target-Model": "m.tar.gz",
        "X-Amzn-SageMaker-Custom-Attributes": "trace=1",
        "X-Amzn-SageMaker-Inference-Id": "id-7",
        "Content-Length": "3",
    }
    assert (reply.status, reply.body, reply.headers) == (200, b"abc", {"Content-Type": "x/y", "Content-Length": "3"})
    await api.invoke("/invocations", Invocation(b""), 10, 0)
    assert set(container.sent) <= {"Host", "Content-Length"}


async def test_bodies_in_pieces_are_sent_with_their_length(api: TritonApi, container: Container) -> None:
    request = Invocation(pieces(b"ab", b"c"), content_length=3)
    assert (await api.invoke("/invocations", request, 10, 0)).body == b"abc"
    assert container.sent["Content-Length"] == "3"
    assert "Transfer-Encoding" not in container.sent


async def test_a_507_and_its_words_are_told(api: TritonApi) -> None:
    with pytest.raises(ContainerAnswered, match="out of memory") as caught:
        await api.invoke("/507", Invocation(b""), 10, 0)
    assert caught.value.status == 507


async def test_an_answer_that_breaks_off_is_an_error_and_not_the_end(api: TritonApi, container: Container) -> None:
    reply = await api.invoke("/broken", Invocation(b""), 10, 0)
    assert not isinstance(reply.body, bytes)
    with pytest.raises(InternalFailure, match="broke off its answer"):
        async for _ in reply.body:
            pass
    await container.close()
    with pytest.raises(ContainerDied):
        await api.invoke("/invocations", Invocation(b""), 10, 0)
