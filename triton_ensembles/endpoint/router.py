"""Decides which part of the platform a request is for: all of them share one URL.

boto3 signs every request for a service; unsigned ones come from a browser, Prometheus or curl.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from triton_ensembles.endpoint.api.errors import ApiError, NotSupportedLocally
from triton_ensembles.endpoint.api.operations import ControlPlane
from triton_ensembles.endpoint.api.refusal import refusal
from triton_ensembles.endpoint.api.runtime import Runtime
from triton_ensembles.endpoint.api.signature import signed_service
from triton_ensembles.endpoint.page.pages import Pages
from triton_ensembles.ground.web_pages import INERT, REFUSAL, is_foreign
from triton_ensembles.hosting.errors import ServiceUnavailable, reason_of
from triton_ensembles.hosting.request_body import BodyTooLarge

_log = logging.getLogger(__name__)
_MOTO = ("s3", "sts", "monitoring", "application-autoscaling")
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Router:
    """Passes each request on to its handler; ``moto`` is that of S3, STS, CloudWatch and Application Auto Scaling."""

    control: ControlPlane
    runtime: Runtime
    moto: Handler
    pages: Pages

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request. All answers but our own pages are made inert; S3's, which are streamed, already are."""
        service = signed_service(request.raw_path, request.headers)
        # Links lead to the status page, and to objects of S3: nothing else is done by a GET alone.
        if is_foreign(request.method, request.headers, links=service in ("s3", None)):
            return web.Response(status=403, text=REFUSAL, headers=INERT)
        answer = await self._answer(request, service)
        for name, value in INERT.items() if not answer.prepared else ():
            answer.headers.setdefault(name, value)
        return answer

    async def _answer(self, request: web.BaseRequest, service: str | None) -> web.StreamResponse:
        if not request.raw_path.startswith("/"):
            message = f"the request is for {request.raw_path[:200]}, as for a proxy; send the path alone"
            return refusal(request, service, "InvalidRequest", message)
        try:
            return await self._handler(request, service)(request)
        except (ApiError, ServiceUnavailable) as error:
            return refusal(request, service, error.code, error.message, error.status)
        except BodyTooLarge:
            return refusal(request, service, "RequestEntityTooLarge", "the request is too large", 413)
        except Exception as error:
            if request.transport is None or request.transport.is_closing():
                raise  # it failed because the client is gone: aiohttp deals with that
            _log.exception("%s %s failed", request.method, request.raw_path)
            reason = reason_of(error) or f"{type(error).__name__}; platform.log says where"
            return refusal(request, service, "InternalFailure", f"the server failed: {reason}", 500)

    def _handler(self, request: web.BaseRequest, service: str | None) -> Handler:
        if service == "sagemaker" or (service is None and "X-Amz-Target" in request.headers):
            return self.control.handle if "X-Amz-Target" in request.headers else self.runtime.handle
        if service in _MOTO:
            return self.moto
        if service is not None:
            operation = request.headers.get("X-Amz-Target", "").rpartition(".")[2]
            feature = f"{service}:{operation}" if operation else service
            raise NotSupportedLocally(feature, "SageMaker, its runtime, S3, STS and CloudWatch are")
        path = request.raw_path.split("?")[0]
        if page := self.pages.find(request.method, path):
            return page
        if request.method == "POST" and path.startswith("/endpoints/"):
            return self.runtime.handle
        return self.moto
