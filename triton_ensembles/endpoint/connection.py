"""A connection of the server whose client may say that it sends no more, and still gets its answers."""

from aiohttp import web


class Connection(web.RequestHandler):
    """aiohttp's, which otherwise takes a client that has sent everything for one that has hung up.

    TCP does not tell the two apart: work for a client that is gone ends when the answer cannot be sent.
    """

    __slots__ = ()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's own signature
        """True keeps the connection open until the last request that has arrived whole is answered."""
        if self._messages:
            message, payload = self._messages[-1]
            if not payload.is_eof():
                return False
            if hasattr(message, "_replace"):  # otherwise an error, after which aiohttp closes it anyway
                self._messages[-1] = message._replace(should_close=True), payload
            return True
        request = self._current_request
        if request is None or not request.content.is_eof():
            return False
        self.close()  # after the present request
        return True


class Server(web.Server):
    """aiohttp's low-level server with these connections."""

    def __call__(self) -> Connection:
        return Connection(self, loop=self._loop, **self._kwargs)
