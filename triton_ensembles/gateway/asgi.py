"""What the gateway needs of ASGI: a request's headers and body, its answer, and whether its client is still there.

A framework's routes, requests and responses take a tenth of what the gateway may add to a model (docs/gateway.md).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from types import TracebackType
from typing import Any, Self

from triton_ensembles.gateway.errors import Refused

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
JSON = "application/json"
_WATCHED_AFTER = 0.05  # seconds: what is answered sooner need not be canceled
_CLIENT_GONE = 499  # nobody sees this status but the metrics; nginx gave it this number


def headers_of(scope: Scope) -> Mapping[str, str]:
    """By name in small letters. What is given more than once is joined by commas."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        found[key] = f"{found[key]},{text}" if key in found else text
    return found


async def read_body(headers: Mapping[str, str], receive: Receive, most: int) -> bytes:
    """Raises :class:`Refused`: 413 for more than ``most`` bytes."""
    if int(headers.get("content-length", "0")) > most:
        raise _too_large(most)
    pieces, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _gone()
        pieces.append(piece := message.get("body", b""))
        size += len(piece)
        if size > most:
            raise _too_large(most)
        more = message.get("more_body", False)
    return b"".join(pieces)


async def answer(send: Send, status: int, content: bytes, kind: str = JSON, **headers: str) -> None:
    """Send the whole answer; ``kind`` is its media type."""
    own = {"content-type": kind, "content-length": str(len(content)), **headers}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in own.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": content})


class Watch:
    """A block that is canceled when its time is over, or when the client goes away.

    Args:
        seconds: that the block may take.
        late: what is raised when they are over. For a client that has gone it is a :class:`Refused` that nobody reads.
    """

    def __init__(self, receive: Receive, seconds: float, late: Refused) -> None:
        self._receive, self._seconds, self._late = receive, seconds, late
        self._watching: asyncio.Task[None] | None = None
        self._canceled: Refused | None = None

    def __enter__(self) -> Self:
        self._task, loop = asyncio.current_task(), asyncio.get_running_loop()
        self._end = loop.time() + self._seconds
        self._timer = loop.call_later(min(_WATCHED_AFTER, self._seconds), self._watch)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._timer.cancel()
        if self._watching:
            self._watching.cancel()
        if self._canceled and kind is asyncio.CancelledError and self._task and not self._task.uncancel():
            raise self._canceled from error

    def _watch(self) -> None:
        self._watching = asyncio.ensure_future(self._cancel())

    async def _cancel(self) -> None:
        try:
            async with asyncio.timeout_at(self._end):
                while (await self._receive())["type"] != "http.disconnect":
                    pass
            self._canceled = _gone()
        except TimeoutError:
            self._canceled = self._late
        if self._task:
            self._task.cancel()


def _too_large(most: int) -> Refused:
    return Refused(413, f"the body is larger than {most} bytes, the most that is taken here")


def _gone() -> Refused:
    return Refused(_CLIENT_GONE, "the client has gone")
