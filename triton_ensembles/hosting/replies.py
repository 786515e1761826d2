"""Reads a model's answer, and sends it to a client."""

import asyncio
import logging
from collections.abc import Mapping

from aiohttp import web

from triton_ensembles.hosting.request import Reply

_log = logging.getLogger(__name__)


async def send(request: web.BaseRequest, reply: Reply, headers: Mapping[str, str]) -> web.StreamResponse:
    """Send the answer with these headers. One in pieces that breaks off ends the connection."""
    if isinstance(reply.body, bytes):
        return web.Response(status=reply.status, headers=headers, body=reply.body)
    response = web.StreamResponse(status=reply.status, headers=headers)
    response.content_length = reply.content_length
    try:
        await response.prepare(request)
        async for piece in reply.body:
            async with asyncio.timeout(reply.body.seconds):  # the model is in use until the client has read its answer
                await response.write(piece)
        await response.write_eof()
    except Exception as error:
        _log.warning("an answer broke off, or its client did not read it: %r", error)
        if request.transport is not None:
            request.transport.abort()  # the status is already sent: only this shows the client that the rest is missing
    finally:
        await reply.body.aclose()
    return response


async def whole(reply: Reply) -> bytes:
    """The body of the answer."""
    return reply.body if isinstance(reply.body, bytes) else b"".join([piece async for piece in reply.body])
