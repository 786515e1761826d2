"""The response to InvokeEndpoint when its body is there as a whole, which is nearly always."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import formatdate
from functools import lru_cache

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import SERVER_SOFTWARE, HttpVersion11
from multidict import CIMultiDict


def whole_response(
    request: web.BaseRequest, status: int, headers: Mapping[str, str], body: bytes
) -> web.StreamResponse:
    """The response, for aiohttp to send. ``headers`` has no Content-Length."""
    plain = status == 200 and request.method == "POST" and request.version == HttpVersion11 and request.keep_alive
    return _Plain(headers, body) if plain else web.Response(status=status, headers=headers, body=body)


class _Plain(web.StreamResponse):
    """A 200 to a POST of HTTP/1.1, over a connection that stays open.

    To find out whether a response may have a body, is compressed, comes in chunks or ends the connection takes aiohttp
    longer than to write it. Here all that is known.
    """

    def __init__(self, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__()
        self._fields, self._whole = headers, body
        self._writer: AbstractStreamWriter

    @property
    def keep_alive(self) -> bool:
        return True

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        self._writer = request.writer
        date = _date(int(time.time()))
        fields = {**self._fields, "Content-Length": str(len(self._whole)), "Date": date, "Server": SERVER_SOFTWARE}
        await self._writer.write_headers("HTTP/1.1 200 OK", CIMultiDict(fields))
        return self._writer

    async def write_eof(self, data: bytes = b"") -> None:
        await self._writer.write_eof(self._whole + data)


@lru_cache(1)
def _date(now: int) -> str:
    return formatdate(now, usegmt=True)
