"""Passes requests on to the S3 process, streamed both ways."""

import re
from xml.sax.saxutils import escape

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from triton_ensembles.endpoint.request_body import Body, BodyTooLarge

# Hop-by-hop headers (RFC 9110, 7.6.1). Expect is answered here.
_HOP = {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "proxy-connection"}
_MOST_BYTES = 5 << 30  # S3's limit of one PUT
_VIRTUAL_HOST = re.compile(r"(?P<bucket>[a-z0-9][a-z0-9.-]+)\.localhost(:\d+)?")


class Forward:
    """Passes requests on to ``base`` ("http://127.0.0.1:PORT")."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self._base = base

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            body = Body(request, _MOST_BYTES)
        except BodyTooLarge:
            return error("EntityTooLarge", f"a PUT has at most {_MOST_BYTES} bytes; upload it in parts", 400)
        headers = CIMultiDict((name, value) for name, value in request.headers.items() if name.lower() not in _HOP)
        # A bucket in the host's name (http://BUCKET.localhost) becomes one in the path.
        virtual = _VIRTUAL_HOST.fullmatch(headers.pop("Host", ""))
        path = f"/{virtual['bucket']}{request.raw_path}" if virtual else request.raw_path
        try:
            async with self._session.request(
                request.method,
                URL(self._base + path, encoded=True),
                headers=headers,
                data=body.pieces() if request.body_exists else None,
                allow_redirects=False,
            ) as answer:
                return await _send_back(request, answer)
        except aiohttp.ClientConnectionError as gone:
            return error("ServiceUnavailable", f"the local S3 server has stopped: {gone}", 503)


def error(code: str, message: str, status: int) -> web.Response:
    """An error in S3's XML."""
    text = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return web.Response(status=status, text=text, content_type="application/xml")


async def _send_back(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, reason=answer.reason)
    response.headers.extend((name, value) for name, value in answer.headers.items() if name.lower() not in _HOP)
    await response.prepare(request)
    try:
        async for piece in answer.content.iter_any():
            await response.write(piece)
    except aiohttp.ClientError:
        if request.transport is not None:
            request.transport.abort()  # the status is already sent: only this shows the client that the rest is missing
        return response
    await response.write_eof()
    return response
