"""Unary gRPC calls to one server, on connections that stay open."""

import asyncio

from triton_ensembles.gateway import hpack
from triton_ensembles.gateway.http2 import Connection, Lost

_KEPT = 64  # idle connections


class Channel:
    """A connection for each call that is under way: none waits for another's, and no large message holds up another.

    Args:
        url: ``127.0.0.1:8001``.
        service: its full name, ``inference.GRPCInferenceService``.
    """

    def __init__(self, url: str, service: str) -> None:
        self._url, self._service = url, service
        self._headers: dict[str, bytes] = {}
        self._idle: list[Connection] = []

    async def call(self, method: str, message: bytes) -> bytes:
        """The answer to a serialized message, serialized. A call that is canceled is canceled at the server.

        Raises:
            RpcError: the server refused it; Lost when there is no connection, or none any more.
        """
        headers = self._headers.get(method) or self._headers_of(method)
        while True:
            kept = bool(self._idle)
            connection = self._idle.pop() if kept else await self._connect()
            try:
                return await connection.call(headers, message)
            except Lost as lost:
                if not (kept and lost.unseen):
                    raise
            finally:
                if connection.reusable and len(self._idle) < _KEPT:
                    self._idle.append(connection)
                else:
                    connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    async def _connect(self) -> Connection:
        host, _, port = self._url.rpartition(":")
        try:
            _, connection = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
        except OSError as error:
            raise Lost(f"no connection: {error}", unseen=True) from None
        return connection

    def _headers_of(self, method: str) -> bytes:
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": f"/{self._service}/{method}",
            ":authority": self._url,
            "content-type": "application/grpc",
            "te": "trailers",
        }
        return self._headers.setdefault(method, hpack.encode(headers.items()))
