"""HTTP/1.1 to one tritonserver over connections that are kept open, and no more of HTTP than that server speaks.

An HTTP client for everybody (redirects, cookies, proxies, compression) takes a tenth of a millisecond of each request's
time, on the cores that the models compute on. Here the parser is httptools, and the rest is a stream.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping

import httptools

_READ = 256 << 10  # bytes
_CONNECT_SECONDS = 10.0


class Answer:
    """One answer. Its body must be read to the end, or the connection closed.

    Args:
        status: of HTTP.
        headers: as they came, by lower-case name.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pieces: deque[bytes] = deque()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.headed = self.complete = self.kept_open = False

    async def read(self) -> bytes:
        """All of the body. Raises ConnectionError when it breaks off."""
        while not self.complete:
            await self._connection.receive()
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._connection.release()
        return body

    async def piece(self) -> bytes:
        """What has come of the body, and ``b""`` at its end. Raises ConnectionError when it breaks off."""
        while not self._pieces and not self.complete:
            await self._connection.receive()
        if self._pieces:
            return self._pieces.popleft()
        self._connection.release()
        return b""

    def close(self) -> None:
        """Read no more of it. Harmless after its end."""
        if self._connection.answer is self:
            self._connection.close()

    # What httptools calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.headed = True
        self.status = self._connection.parser.get_status_code()

    def on_body(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        self.complete = True
        self.kept_open = self._connection.parser.should_keep_alive()


class Connections:
    """All connections to one server. Use it on one event loop; ``close`` ends them.

    Args:
        host, port: of the server.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes] = b"",
        length: int | None = None,
        *,
        alone: bool = False,
    ) -> Answer:
        """Send a request and give back the head of its answer.

        Args:
            length: bytes of a body that comes in pieces.
            alone: on a connection of its own, which the server closes after the answer.

        Raises:
            ConnectionError: nobody listens, or the connection broke before there was an answer.
        """
        connection = await self._connect() if alone else (self._take() or await self._connect())
        try:
            size = len(body) if isinstance(body, bytes) else length
            lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}:{self._port}"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            lines += [f"Content-Length: {size}", *(["Connection: close"] if alone else []), "\r\n"]
            return await connection.exchange("\r\n".join(lines).encode("utf-8", "surrogateescape"), body)
        except BaseException:  # while it was sent, or not at all
            connection.close()
            raise

    def close(self) -> None:
        for connection in list(self._open):
            connection.close()

    def give_back(self, connection: Connection) -> None:
        self._idle.append(connection)

    def forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _take(self) -> Connection | None:
        """The connection that was used last, unless the server has closed it meanwhile."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
            connection.close()
        return None

    async def _connect(self) -> Connection:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(self._host, self._port, limit=_READ)
        except TimeoutError:
            raise ConnectionError(f"{self._host}:{self._port} does not accept connections") from None
        connection = Connection(self, reader, writer)
        self._open.add(connection)
        return connection


class Connection:
    """One of them: a request at a time."""

    def __init__(self, owner: Connections, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._owner, self._reader, self._writer = owner, reader, writer
        self.answer: Answer | None = None
        self.parser: httptools.HttpResponseParser

    @property
    def usable(self) -> bool:
        return not self._reader.at_eof() and not self._writer.is_closing()

    async def exchange(self, head: bytes, body: bytes | AsyncIterator[bytes]) -> Answer:
        self.answer = answer = Answer(self)
        self.parser = httptools.HttpResponseParser(answer)
        if isinstance(body, bytes):
            self._writer.write(head + body)  # in one piece: each costs the kernel a wake-up of the server
            await self._writer.drain()
        else:
            self._writer.write(head)
            async for piece in body:
                self._writer.write(piece)
                await self._writer.drain()
        while not answer.headed:
            await self.receive()
        return answer

    async def receive(self) -> None:
        """Wait for more bytes of the answer. Raises ConnectionError at the connection's end."""
        try:
            data = await self._reader.read(_READ)
            if not data:
                raise ConnectionResetError("the container closed the connection")
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.close()
            raise ConnectionError(f"the container's answer is not HTTP: {error}") from error
        except BaseException:  # cancelled too: what comes next belongs to nobody
            self.close()
            raise

    def release(self) -> None:
        """The answer has been read: the next request may have the connection."""
        answer, self.answer = self.answer, None
        if answer is not None and answer.kept_open:
            self._owner.give_back(self)
        else:
            self.close()

    def close(self) -> None:
        self._owner.forget(self)
        self._writer.close()
