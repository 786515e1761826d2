"""One connection to tritonserver: a request goes out, and its answer comes in as somebody reads it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import cast

import httptools


class Answer:
    """One answer. Its body must be read to the end, or the connection closed.

    Args:
        status: of HTTP.
        headers: as they came, by lower-case name.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.pieces: deque[bytes] = deque()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.headed = self.complete = self.kept_open = False

    async def read(self) -> bytes:
        """All of the body. Raises ConnectionError when it breaks off, TimeoutError after ``seconds`` of the request."""
        while not self.complete:
            await self._connection.more()
        body = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        self._connection.release()
        return body

    async def piece(self, seconds: float) -> bytes:
        """What has come of the body, and ``b""`` at its end.

        Raises:
            ConnectionError: it breaks off.
            TimeoutError: no more of it within ``seconds``.
        """
        self._connection.allow(seconds)
        while not self.pieces and not self.complete:
            await self._connection.more()
        if self.pieces:
            return self.pieces.popleft()
        self._connection.release()
        return b""

    def close(self) -> None:
        """Read no more of it. Harmless after its end."""
        if self._connection.answer is self:
            self._connection.close()


class Connection(asyncio.Protocol):
    """A request at a time.

    Args:
        free: called when an answer has been read and the next request may come.
        ended: called once, when no request may come any more.
    """

    def __init__(self, free: Callable[[Connection], None], ended: Callable[[Connection], None]) -> None:
        self._free, self._ended = free, ended
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport
        self._deadline: float | None = None  # of the loop's clock
        self._waiting: asyncio.Future[None] | None = None
        self._paused = False
        self._end: Exception | None = None  # why nothing more will come
        self._writable = asyncio.Event()
        self._writable.set()
        self.answer: Answer | None = None

    @property
    def usable(self) -> bool:
        return self._end is None

    def allow(self, seconds: float | None) -> None:
        """Let ``exchange`` and ``more`` raise TimeoutError in so many seconds, or never."""
        self._deadline = None if seconds is None else self._loop.time() + seconds

    async def exchange(self, head: bytes, body: bytes | AsyncIterator[bytes]) -> Answer:
        self.answer = answer = Answer(self)
        if isinstance(body, bytes):
            self._send(head + body)  # in one piece: each costs the kernel a wake-up of the server
        else:
            async with asyncio.timeout_at(self._deadline):
                self._send(head)
                async for piece in body:
                    await self._writable.wait()
                    self._send(piece)
        while not answer.headed:
            await self.more()
        return answer

    async def more(self) -> None:
        """Wait for more bytes of the answer. Raises ConnectionError at the connection's end."""
        if self._end is not None:
            raise self._end
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        self._waiting = waiting = self._loop.create_future()
        timer = self._loop.call_at(self._deadline, _expire, waiting) if self._deadline is not None else None
        try:
            await waiting
        except BaseException:  # cancelled too: what comes next belongs to nobody
            self.close()
            raise
        finally:
            self._waiting = None
            if timer is not None:
                timer.cancel()

    def release(self) -> None:
        """The answer has been read: the next request may have the connection."""
        answer, self.answer = self.answer, None
        if answer is not None and answer.kept_open and self.usable:
            self._free(self)
        else:
            self.close()

    def close(self) -> None:
        self._break(ConnectionAbortedError("the connection to the container was closed"))

    def _send(self, data: bytes) -> None:
        if self._end is not None:
            raise self._end
        self._transport.write(data)

    def _break(self, why: Exception) -> None:
        """Nothing more will come; only the first reason counts."""
        if self._end is None:
            self._end = why
            self._ended(self)
            self._writable.set()
            self._transport.close()
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_exception(why)

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.answer is None or self._end is not None:
            self.close()  # nobody has asked for it
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._break(ConnectionError(f"the container's answer is not HTTP: {error}"))
            return
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        elif not self.answer.complete:
            self._paused = True
            self._transport.pause_reading()  # until somebody wants it

    def eof_received(self) -> None:
        self._break(ConnectionResetError("the container closed the connection"))

    def connection_lost(self, error: Exception | None) -> None:
        self._break(error or ConnectionResetError("the container closed the connection"))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # What the parser calls.

    def on_message_begin(self) -> None:
        assert self.answer is not None
        if self.answer.complete:
            raise ValueError("an answer that nobody has asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        assert self.answer is not None
        self.answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        assert self.answer is not None
        self.answer.headed = True
        self.answer.status = self._parser.get_status_code()

    def on_body(self, piece: bytes) -> None:
        assert self.answer is not None
        self.answer.pieces.append(piece)

    def on_message_complete(self) -> None:
        assert self.answer is not None
        self.answer.complete = True
        self.answer.kept_open = self._parser.should_keep_alive()


def _expire(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_exception(TimeoutError())
