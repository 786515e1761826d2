"""A connection of the server whose client may say that it sends no more, and still gets its answers."""

from typing import Any

from aiohttp import web


class Connection(web.RequestHandler):
    """aiohttp's, which otherwise takes a client that has sent everything for one that has hung up.

    TCP does not tell the two apart: work for a client that is gone ends when the answer cannot be sent.
    """

    __slots__ = ("_latest_body",)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._latest_body: Any = None

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
        return True


class Server(web.Server):
    """aiohttp's low-level server with these connections."""

    def __call__(self) -> Connection:
        return Connection(self, loop=self._loop, **self._kwargs)
