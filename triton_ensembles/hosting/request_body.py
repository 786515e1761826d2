"""Bodies of requests, read whole or in pieces. A size limit is enforced while they arrive."""

from collections.abc import AsyncIterator

from aiohttp import web


class BodyTooLarge(Exception):
    """The body is larger than the limit, which is its text."""


class Body:
    """The body of one request. Raises BodyTooLarge as soon as Content-Length or what arrives exceeds ``most`` bytes."""

    def __init__(self, request: web.BaseRequest, most: int) -> None:
        self._request = request
        self._most = most
        self.length = request.content_length
        if self.length is not None and self.length > most:
            raise BodyTooLarge(most)

    @property
    def arrived(self) -> bool:
        """Return whether all of it is here."""
        return self._request.content.is_eof()

    async def whole(self) -> bytes:
        if not self._request.body_exists:
            return b""
        if self.length is not None:
            await self._answer_expectation()
            return await self._request.content.readexactly(self.length)
        return b"".join([piece async for piece in self.pieces()])

    async def pieces(self) -> AsyncIterator[bytes]:
        """As it arrives, without copying."""
        await self._answer_expectation()
        seen = 0
        async for piece in self._request.content.iter_any():
            seen += len(piece)
            if seen > self._most:
                raise BodyTooLarge(self._most)
            yield piece

    async def _answer_expectation(self) -> None:
        """``Expect: 100-continue``, which boto3 sends with S3 uploads: it waits for the answer."""
        if self._request.headers.get("Expect", "").lower() == "100-continue":
            await self._request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._request.writer.output_size = 0
