"""Errors in the format of the protocol in which a request is made: botocore finds none in that of another.

json: X-Amz-Target names the operation; query and ec2: a form with an Action; rest-xml and rest-json: the path names it.
"""

import json
import re
import uuid
from xml.sax.saxutils import escape

from aiohttp import web

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REST_XML = {"s3", "cloudfront", "route53", "s3-outposts", "s3express", None}  # unsigned requests are for S3


def refusal(request: web.BaseRequest, service: str | None, code: str, message: str, status: int = 400) -> web.Response:
    """The error as a client of ``service`` (its signing name) reads it."""
    number = str(uuid.uuid4())
    headers = {"x-amzn-RequestId": number}
    if "X-Amz-Target" in request.headers:
        body = json.dumps({"__type": code, "message": message}).encode()
        return _response(status, body, "application/x-amz-json-1.1", headers)
    error = f"<Code>{escape(code)}</Code><Message>{escape(_NOT_XML.sub('?', message))}</Message>"
    if service == "ec2":
        xml = f"<Response><Errors><Error>{error}</Error></Errors><RequestID>{number}</RequestID></Response>"
        return _response(status, xml.encode(), "text/xml", headers)
    if service in ("s3", None):
        xml = f"<Error>{error}<RequestId>{number}</RequestId></Error>"
        return _response(status, xml.encode(), "application/xml", headers)
    is_form = request.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
    if service in _REST_XML or is_form or "Action" in request.rel_url.query:
        kind = "Sender" if status < 500 else "Receiver"
        xml = f"<ErrorResponse><Error><Type>{kind}</Type>{error}</Error><RequestId>{number}</RequestId></ErrorResponse>"
        return _response(status, xml.encode(), "text/xml", headers)
    body = json.dumps({"message": message}).encode()
    return _response(status, body, "application/json", headers | {"x-amzn-ErrorType": code})


def _response(status: int, body: bytes, content_type: str, headers: dict[str, str]) -> web.Response:
    return web.Response(status=status, body=body, content_type=content_type, headers=headers)
