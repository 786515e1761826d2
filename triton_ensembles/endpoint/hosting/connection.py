"""HTTP/1.1 to one tritonserver over connections that are kept open, and no more of HTTP than that server speaks.

An HTTP client for everybody (redirects, cookies, proxies, compression) takes a tenth of a millisecond of each request's
time, on the cores that the models compute on. Here the parser is httptools, fed by the transport itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from triton_ensembles.endpoint.hosting.exchange import Answer, Connection

_CONNECT_SECONDS = 10.0
_CLOSED = "the connections to this server are closed"


class Connections:
    """All connections to one server. Use it on one event loop; ``close`` ends them.

    Args:
        host, port: of the server.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self.closed = False

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes] = b"",
        length: int | None = None,
        *,
        seconds: float | None = None,
        alone: bool = False,
    ) -> Answer:
        """Send a request and give back the head of its answer.

        Args:
            length: bytes of a body that comes in pieces.
            seconds: from here to the end of :meth:`Answer.read`.
            alone: on a connection of its own, which the server closes after the answer.

        Raises:
            ConnectionError: nobody listens, the connection broke before there was an answer, or ``close`` was called.
            TimeoutError: no answer within ``seconds``.
        """
        if self.closed:
            raise ConnectionAbortedError(_CLOSED)
        if alone or not self._idle:
            connection = await self._connect()
        else:
            connection = self._idle.pop()  # used last; one that the server has closed is not there any more
        try:
            connection.allow(seconds)
            size = len(body) if isinstance(body, bytes) else length
            lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}:{self._port}"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            lines += [f"Content-Length: {size}", *(["Connection: close"] if alone else []), "\r\n"]
            return await connection.exchange("\r\n".join(lines).encode("utf-8", "surrogateescape"), body)
        except BaseException:  # while it was sent, or not at all
            connection.close()
            raise

    def close(self) -> None:
        """End all connections, and never make another one: the next server at this port is not the same server."""
        self.closed = True
        for connection in list(self._open):
            connection.close()

    def _forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _make(self) -> Connection:
        return Connection(self._idle.append, self._forget)

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, connection = await loop.create_connection(self._make, self._host, self._port)
        except TimeoutError:
            raise ConnectionError(f"{self._host}:{self._port} does not accept connections") from None
        if self.closed:
            connection.close()
            raise ConnectionAbortedError(_CLOSED)
        if connection.usable:
            self._open.add(connection)
        return connection
