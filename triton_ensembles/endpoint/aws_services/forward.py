"""Passes requests on to the S3 process, streamed both ways."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from triton_ensembles.endpoint.api.errors import NotSupportedLocally
from triton_ensembles.endpoint.api.json_body import parsed
from triton_ensembles.endpoint.api.refusal import refusal
from triton_ensembles.endpoint.api.signature import signed_service
from triton_ensembles.endpoint.aws_services.fault import CONTENT_TYPE
from triton_ensembles.ground.web_pages import INERT
from triton_ensembles.hosting.request_body import Body, BodyTooLarge

# Hop-by-hop headers (RFC 9110, 7.6.1). Expect is answered here.
_HOP = {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "proxy-connection"}
_CORS = re.compile("access-control-", re.IGNORECASE)  # moto lets every page read all answers
_FORM_CURE = "send the object with PUT, for example to a URL of generate_presigned_url('put_object')"
_MOST_BYTES = 5 << 30  # S3's limit of one PUT
_VIRTUAL_HOST = re.compile(r"(?P<bucket>[a-z0-9][a-z0-9.-]+)\.localhost(:\d+)?")


@dataclass(frozen=True)
class Forward:
    """Passes requests on to ``base`` ("http://127.0.0.1:PORT")."""

    session: aiohttp.ClientSession
    base: str

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST" and request.content_type == "multipart/form-data":
            raise NotSupportedLocally("a form that is posted to a bucket", _FORM_CURE)
        try:
            body = Body(request, _MOST_BYTES)
        except BodyTooLarge:
            return _error(request, "EntityTooLarge", f"a PUT has at most {_MOST_BYTES} bytes; upload it in parts", 400)
        headers = CIMultiDict((name, value) for name, value in request.headers.items() if name.lower() not in _HOP)
        # A bucket in the host's name (http://BUCKET.localhost) becomes one in the path.
        virtual = _VIRTUAL_HOST.fullmatch(headers.pop("Host", ""))
        content: bytes | AsyncIterator[bytes] | None = body.pieces() if request.body_exists else None
        if request.content_type.startswith("application/x-amz-json"):
            content = json.dumps(await parsed(request)).encode()
            headers.pop("Content-Length", None)
        path = f"/{virtual['bucket']}{request.raw_path}" if virtual else request.raw_path
        try:
            async with self.session.request(
                request.method,
                URL(self.base + path, encoded=True),
                headers=headers,
                data=content,
                allow_redirects=False,
            ) as answer:
                if answer.content_type == CONTENT_TYPE:
                    fault = await answer.json(content_type=CONTENT_TYPE)
                    return _error(request, fault["code"], fault["message"], answer.status)
                unnamed = answer.status >= 400 and answer.content_type == "text/html"  # not the service's own answer
                if unnamed and request.method != "HEAD":
                    return _failure(request, answer.status)
                return await _send_back(request, answer)
        except aiohttp.ClientConnectionError:
            message = "the local S3 server ended meanwhile, and is started again without its objects; s3.log says why"
            return _error(request, "ServiceUnavailable", message, 503)


def _failure(request: web.BaseRequest, status: int) -> web.Response:
    if status < 500 or status == HTTPStatus.NOT_IMPLEMENTED:
        phrase = HTTPStatus(status).phrase
        return _error(request, phrase.replace(" ", ""), f"{phrase}: the request is for nothing that is here", status)
    message = "the local server of S3, STS, CloudWatch and Application Auto Scaling failed; s3.log says why"
    service = signed_service(request.raw_path, request.headers)
    return _error(request, "InternalError" if service in ("s3", None) else "InternalFailure", message, status)


def _error(request: web.BaseRequest, code: str, message: str, status: int) -> web.Response:
    return refusal(request, signed_service(request.raw_path, request.headers), code, message, status)


async def _send_back(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, reason=answer.reason)
    kept = (item for item in answer.headers.items() if not (item[0].lower() in _HOP or _CORS.match(item[0])))
    response.headers.extend(kept)
    response.headers.update(INERT)  # whatever it is: an object may be called a page
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
