"""A connection of the server whose client may say that it sends no more, and still gets its answers."""

import asyncio
from typing import Any

from aiohttp import web

from triton_ensembles.endpoint.peer import has_hung_up

_LOOKS = (0.02, 0.1, 0.5)  # seconds between looks at a client that sends no more; the last one again and again


class Connection(web.RequestHandler):
    """aiohttp's, which otherwise takes a client that has sent everything for one that has hung up.

    Work for a client that has really gone is canceled, as that for a client that resets the connection.
    """

    __slots__ = ("_latest_body", "_watching")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._latest_body: Any = None
        self._watching: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._messages:
            self._latest_body = self._messages[-1][1]

    def eof_received(self) -> bool:  # type: ignore[override]  # as asyncio has it
        """True keeps the connection open until the requests that have arrived whole are answered."""
        idle = self._waiter is not None and not self._waiter.done()
        if idle or self._latest_body is None or not self._latest_body.is_eof():
            return False
        if self._messages:
            message, body = self._messages[-1]
            if hasattr(message, "_replace"):  # otherwise an error, after which aiohttp closes the connection anyway
                self._messages[-1] = message._replace(should_close=True), body
        else:
            self.close()  # after the present request
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        return True

    def connection_lost(self, error: BaseException | None) -> None:
        if self._watching is not None:
            self._watching.cancel()
        super().connection_lost(error)

    async def _watch(self) -> None:
        """Look whether the client is still there until it is not, or the connection is closed."""
        transport = self.transport
        if transport is None:
            return
        ends = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        looks = iter(_LOOKS)
        while not transport.is_closing():
            await asyncio.sleep(next(looks, _LOOKS[-1]))
            if await asyncio.to_thread(has_hung_up, *ends):
                transport.abort()


class Server(web.Server):
    """aiohttp's low-level server with these connections."""

    def __call__(self) -> Connection:
        return Connection(self, loop=self._loop, **self._kwargs)
