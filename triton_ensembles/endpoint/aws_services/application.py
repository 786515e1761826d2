"""moto's services as one WSGI application, which keeps requests as they are.

moto also looks for a service in the path and the body of an unsigned request: it takes some objects for other services,
and uses up a body of the type application/x-www-form-urlencoded, curl's default for an upload to a presigned URL. Here
the signature alone says which service it is, and S3 has no forms.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from hmac import compare_digest
from http import HTTPStatus
from threading import Lock
from typing import Any
from urllib.parse import parse_qs

from flask import Flask
from moto.moto_server.werkzeug_app import BackendRequest, create_backend_app
from werkzeug.utils import cached_property

from triton_ensembles.endpoint.api.errors import NotSupportedLocally
from triton_ensembles.endpoint.api.signature import signed_service
from triton_ensembles.endpoint.aws_services.disk import Stored
from triton_ensembles.endpoint.aws_services.fault import CONTENT_TYPE, SECRET, Fault
from triton_ensembles.endpoint.aws_services.uploads import received
from triton_ensembles.hosting.errors import reason_of

_log = logging.getLogger(__name__)
_MODULES = {"monitoring": "cloudwatch", "sts": "sts", "application-autoscaling": "applicationautoscaling"}
_UNKNOWN = "this operation is not supported locally"
_UNREADABLE = (
    "The request cannot be read: its operation is unknown, or its parameters or XML are not those of the operation. "
    "s3.log has the details."
)
_SECRET = f"HTTP_{SECRET.upper().replace('-', '_')}"
_LONGEST_KEY = 1024  # bytes, of which WSGI makes one character each
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
_BUCKET = re.compile(r"(?![0-9.]+$)(?!xn--)[a-z0-9](\.?[a-z0-9-]){1,61}(?<!-)")
Start = Callable[..., Any]


class S3Request(BackendRequest):  # type: ignore[misc]
    """A request whose body is never read as a form."""

    @property
    def want_form_data_parsed(self) -> bool:
        return False

    @cached_property
    def data(self) -> bytes | Stored:
        if self.method == "PUT":
            return received(self.stream, self.environ)
        body: bytes = self.get_data(cache=False)
        return body


class Application:
    """The WSGI application. ``secret``: what each request must have; a web page, which does not, could otherwise store
    an archive, whose code then runs."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._lock = Lock()
        self._completing = Lock()
        self._services: dict[str, Flask] = {}

    def __call__(self, environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        if not compare_digest(environ.get(_SECRET, "").encode(), self._secret.encode()):
            return _error(start_response, Fault("AccessDenied", "Access Denied", 403))
        headers = {"Authorization": environ.get("HTTP_AUTHORIZATION", "")}
        query = environ.get("QUERY_STRING", "")
        service = signed_service(f"?{query}", headers) or "s3"
        uploads = parse_qs(query).get("uploadId", [])
        completes = environ.get("REQUEST_METHOD") == "POST" and uploads
        bucket, _, key = environ["PATH_INFO"][1:].partition("/")
        try:
            if service == "s3" and len(key) > _LONGEST_KEY:
                raise Fault("KeyTooLongError", "Your key is too long")
            if service == "s3" and environ.get("REQUEST_METHOD") == "PUT" and not key and not _BUCKET.fullmatch(bucket):
                raise Fault("InvalidBucketName", "The specified bucket is not valid.")
            # Of two programs that complete the same upload, the second finds the object: moto lets it repeat the call.
            with self._completing if completes else nullcontext():
                return self._service(_MODULES.get(service, "s3"))(environ, start_response)
        except (Fault, NotSupportedLocally) as fault:
            return _error(start_response, fault)
        except NotImplementedError:
            return _error(start_response, Fault("NotImplemented", _UNKNOWN, 501))
        except OSError as error:
            _log.exception("%s %s failed", environ.get("REQUEST_METHOD"), environ.get("PATH_INFO"))
            return _error(start_response, Fault("InternalError", reason_of(error) or str(error), 500))
        except Exception as error:  # moto's, which comes upon something else than it expects: other XML, or none
            if isinstance(error, KeyError) and error.args[0] in uploads:
                message = "The specified upload does not exist: it was completed or aborted, or has never been."
                return _error(start_response, Fault("NoSuchUpload", message, 404))
            _log.exception("%s %s?%s", environ.get("REQUEST_METHOD"), environ.get("PATH_INFO"), query)
            return _error(start_response, Fault("InvalidRequest", _UNREADABLE))

    def _service(self, module: str) -> Flask:
        with self._lock:
            if module not in self._services:
                application = create_backend_app(module)
                if module == "s3":
                    application.request_class = S3Request
                self._services[module] = application
            return self._services[module]


def _error(start_response: Start, fault: Fault | NotSupportedLocally) -> list[bytes]:
    start_response(f"{fault.status} {HTTPStatus(fault.status).phrase}", [("Content-Type", CONTENT_TYPE)])
    return [json.dumps({"code": fault.code, "message": fault.message}).encode()]
