"""Errors in the format of the protocol in which a request is made: botocore finds none in that of another.

json: X-Amz-Target names the operation; query: a form with an Action; S3's XML and rest-json: the path names it.
"""

import json
import re
import uuid
from xml.sax.saxutils import escape

from aiohttp import web

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def refusal(request: web.BaseRequest, service: str | None, code: str, message: str, status: int = 400) -> web.Response:
    """The error as a client of ``service`` (its signing name; None, of unsigned requests, is S3) reads it."""
    number = str(uuid.uuid4())
    headers = {"x-amzn-RequestId": number}
    error = f"<Code>{escape(code)}</Code><Message>{escape(_NOT_XML.sub('?', message))}</Message>"
    is_form = request.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
    if "X-Amz-Target" in request.headers:
        body, content_type = json.dumps({"__type": code, "message": message}), "application/x-amz-json-1.1"
    elif service in ("s3", None):
        body, content_type = f"<Error>{error}<RequestId>{number}</RequestId></Error>", "application/xml"
    elif is_form or "Action" in request.rel_url.query:
        kind = f"<Type>{'Sender' if status < 500 else 'Receiver'}</Type>"
        body = f"<ErrorResponse><Error>{kind}{error}</Error><RequestId>{number}</RequestId></ErrorResponse>"
        content_type = "text/xml"
    else:
        body, content_type = json.dumps({"message": message}), "application/json"
        headers["x-amzn-ErrorType"] = code
    return web.Response(status=status, body=body.encode(), content_type=content_type, headers=headers)
