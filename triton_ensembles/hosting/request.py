"""A request to a model, and its answer."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import NamedTuple

import aiohttp

from triton_ensembles.hosting.errors import InternalFailure


class Invocation(NamedTuple):
    """The body and headers of a request, as the container gets them.

    Only a whole body can be sent a second time, after the container answered 507 and another model was unloaded. Of one
    in pieces, ``content_length`` is the number of bytes: the container does not accept chunked requests.
    """

    body: bytes | AsyncIterator[bytes]
    target_model: str | None = None
    headers: Mapping[str, str] = {}  # without that of the target model
    content_length: int | None = None
    method: str = "POST"
    operation: str = ""  # of KServe v2, after the model's path: "/infer"


class Pieces(AsyncIterator[bytes]):
    """A long answer in pieces, as it arrives. Closing it early ends the connection to the container.

    ``seconds`` is the longest time to wait for the next piece, and for the client to take one. Raises InternalFailure:
    the answer breaks off, or the next piece does not come in time.
    """

    def __init__(self, answer: aiohttp.ClientResponse, seconds: float) -> None:
        self._answer = answer
        self.seconds = seconds
        self.on_end: Callable[[], None] | None = None  # called once: it has been read to its end, broken off or closed
        self._unread = b""

    def unread(self, piece: bytes) -> None:
        """Have ``piece`` be the next one."""
        self._unread = piece

    async def __anext__(self) -> bytes:
        if self._unread:
            piece, self._unread = self._unread, b""
            return piece
        try:
            async with asyncio.timeout(self.seconds):
                piece = await self._answer.content.readany()
        except BaseException as error:
            await self.aclose()
            if isinstance(error, aiohttp.ClientError | TimeoutError):
                reason = str(error) or type(error).__name__
                raise InternalFailure(f"the container's answer broke off: {reason}", cure="try again") from error
            raise
        if not piece:
            await self.aclose()
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._answer.close()
        if self.on_end is not None:
            callback, self.on_end = self.on_end, None
            callback()


class Reply(NamedTuple):
    """A model's answer with a status below 400; any other is raised as ModelError.

    A small body is whole, a large one in pieces, which must be read to the end or closed (``aclose``): the model counts
    as in use until then. ``model_seconds``, CloudWatch's ModelLatency, lasts from sending the request to the container
    to its whole answer, or for a body in pieces to the answer's head.
    """

    status: int
    headers: Mapping[str, str]  # the container's Content-Type, and of KServe v2 the length of the JSON part
    body: bytes | Pieces
    content_length: int | None  # bytes of the body; None where the container does not say
    model_seconds: float
