"""The container's own HTTP interface: what SageMaker's platform may ask of tritonserver 2.51.0, and nothing else.

Two things bring that server down or make it hang, and are therefore never sent: JSON that is not whole to POST /models
(it aborts), and an unload whose TargetModel header differs from that of the load (it waits 350 s). So the same header
goes with load, invoke and unload, and only names that this platform made itself go into the JSON.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from triton_ensembles.endpoint.hosting.connection import Connections
from triton_ensembles.endpoint.hosting.errors import InternalFailure
from triton_ensembles.endpoint.hosting.exchange import Answer
from triton_ensembles.endpoint.hosting.request import Invocation, Reply

TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
_WHOLE = 64 << 10  # bytes; replies up to this size are read at once
_PASSED_ON = {"content-type": "Content-Type", "content-length": "Content-Length"}


class ContainerDied(Exception):  # noqa: N818
    """The connection broke: tritonserver has ended, or is about to."""


class ContainerAnswered(Exception):  # noqa: N818
    """A status of 400 or more, with the container's own words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class TritonApi:
    """The SageMaker port of one tritonserver, from its start to its end.

    Use it on the event loop that made it. ``close`` ends its connections, and every later call raises ContainerDied.
    """

    def __init__(self, url: str) -> None:
        host, _, port = url.rpartition(":")
        self._connections = Connections(host, int(port))

    @property
    def closed(self) -> bool:
        """Whether this server has ended. What it had loaded is gone with it."""
        return self._connections.closed

    async def load(self, hash: str, folder: Path, target_model: str) -> None:
        body = json.dumps({"model_name": hash, "url": str(folder)}).encode()
        await self._control("POST", "/models", target_model, body)

    async def unload(self, hash: str, target_model: str) -> None:
        await self._control("DELETE", f"/models/{hash}", target_model, b"")

    async def invoke(self, path: str, request: Invocation, seconds: float, instance: int) -> Reply:
        """POST the body to ``path`` and give back the answer.

        Raises:
            TimeoutError: no whole answer, or no more of one that comes in pieces, within ``seconds``.
            ContainerAnswered, ContainerDied
        """
        started = time.perf_counter()
        try:
            answer = await self._connections.ask(
                "POST", path, _headers(request), request.body, request.content_length, seconds=seconds
            )
            if answer.status >= 400:
                raise ContainerAnswered(answer.status, _words(await answer.read()))
            small = int(answer.headers.get("content-length", _WHOLE + 1)) <= _WHOLE
            body = await answer.read() if small else Pieces(answer, seconds)
        except TimeoutError:
            raise  # which is an OSError too
        except OSError as error:
            raise ContainerDied(str(error) or type(error).__name__) from error
        headers = {_PASSED_ON[name]: value for name, value in answer.headers.items() if name in _PASSED_ON}
        return Reply(answer.status, headers, body, time.perf_counter() - started, instance)

    def close(self) -> None:
        self._connections.close()

    async def _control(self, method: str, path: str, target_model: str, body: bytes) -> None:
        # A connection of its own: the server handles these in the thread of the connection, for as long as it takes.
        try:
            answer = await self._connections.ask(method, path, {TARGET_MODEL: target_model}, body, alone=True)
            words = _words(await answer.read())
        except OSError as error:
            raise ContainerDied(str(error) or type(error).__name__) from error
        if answer.status >= 400:
            raise ContainerAnswered(answer.status, words)


class Pieces(AsyncIterator[bytes]):
    """A :class:`ReplyBody`. Closing it early ends the connection to the container."""

    def __init__(self, answer: Answer, seconds: float) -> None:
        self._answer = answer
        self._seconds = seconds
        self._when_ended: Callable[[], None] | None = None

    def when_ended(self, tell: Callable[[], None]) -> None:
        """Have ``tell`` called once, when the body has been read to its end, broken off or closed."""
        self._when_ended = tell

    async def __anext__(self) -> bytes:
        try:
            piece = await self._answer.piece(self._seconds)
        except BaseException as error:
            await self.aclose()
            if isinstance(error, OSError):  # TimeoutError is one too
                raise InternalFailure(f"the container broke off its answer: {error or type(error).__name__}") from error
            raise
        if not piece:
            await self.aclose()
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._answer.close()
        if self._when_ended is not None:
            tell, self._when_ended = self._when_ended, None
            tell()


def _headers(request: Invocation) -> Mapping[str, str]:
    """InvokeEndpoint's headers, as the container sees them on SageMaker; only those that the client sent."""
    given = {
        "Content-Type": request.content_type,
        "Accept": request.accept,
        TARGET_MODEL: request.target_model,
        "X-Amzn-SageMaker-Custom-Attributes": request.custom_attributes,
        "X-Amzn-SageMaker-Inference-Id": request.inference_id,
    }
    return {name: value for name, value in given.items() if value is not None}


def _words(body: bytes) -> str:
    """The text of ``{"error": "…"}``, or the body as it is."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return str(json.loads(body)["error"])
    return body.decode(errors="replace")
