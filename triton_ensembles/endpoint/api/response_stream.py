"""The answer of InvokeEndpointWithResponseStream: one PayloadPart, or several where it is larger than a message.

The format: https://smithy.io/2.0/aws/amazon-eventstream.html
"""

import asyncio
import json

from aiohttp import web

from triton_ensembles.hosting.errors import HostingError
from triton_ensembles.hosting.request import Reply

_PART_BYTES = 16 << 20  # botocore 1.44.5 reads messages of up to 24 MiB
_CONTENT_TYPE = "X-Amzn-SageMaker-Content-Type"


async def send(request: web.BaseRequest, reply: Reply, variant: str, request_id: str) -> web.StreamResponse:
    """Send a model's answer as an event stream."""
    headers = {"x-Amzn-Invoked-Production-Variant": variant, "x-amzn-RequestId": request_id}
    headers["Content-Type"] = "application/vnd.amazon.eventstream"
    if content_type := reply.headers.get("Content-Type"):
        headers[_CONTENT_TYPE] = content_type
    response = web.StreamResponse(status=reply.status, headers=headers)
    try:
        await response.prepare(request)
        part = bytearray()
        if isinstance(reply.body, bytes):
            part += reply.body
        else:
            async for piece in reply.body:
                part += piece
                while len(part) > _PART_BYTES:
                    async with asyncio.timeout(reply.body.seconds):
                        await response.write(payload_part(part[:_PART_BYTES]))
                    del part[:_PART_BYTES]
        async with asyncio.timeout(None if isinstance(reply.body, bytes) else reply.body.seconds):
            await response.write(payload_part(part))
        await response.write_eof()
    except HostingError as error:  # the answer broke off
        body = json.dumps({"Message": str(error)}).encode()
        await response.write(_message("exception", "InternalStreamFailure", "application/json", body))
        await response.write_eof()
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()  # the client does not read
    finally:
        if not isinstance(reply.body, bytes):
            await reply.body.aclose()
    return response


def payload_part(payload: bytes | bytearray) -> bytes:
    """Return an event with a part of the answer."""
    return _message("event", "PayloadPart", "application/octet-stream", payload)


def _message(kind: str, name: str, content_type: str, payload: bytes | bytearray) -> bytes:
    from moto.core.eventstream import EventStreamEncoder  # 10 MiB, for the few who ask for a stream

    headers = {f":{kind}-type": name, ":content-type": content_type, ":message-type": kind}
    message: bytes = EventStreamEncoder().encode_message(headers, bytes(payload))
    return message
