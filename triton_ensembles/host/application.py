"""KServe v2 over HTTP for the models of a room: every path that tritonclient.http asks for, but shared memory.

https://github.com/kserve/open-inference-protocol, and Triton's extensions: repository, statistics, configuration.
"""

import asyncio
import contextlib
import hmac
import json
import logging
import re
from collections.abc import Awaitable
from typing import TypeVar
from urllib.parse import unquote

from aiohttp import web
from prometheus_client import generate_latest

from triton_ensembles.ground.web_pages import INERT, why_refused
from triton_ensembles.host.gateway.application import Gateway
from triton_ensembles.host.names import described, renamed
from triton_ensembles.host.page import page
from triton_ensembles.host.refusal import RETRY, Refused
from triton_ensembles.host.report import HostReport
from triton_ensembles.host.room import Room
from triton_ensembles.host.settings import Settings
from triton_ensembles.hosting.errors import ArchiveMissing, HostingError, reason_of
from triton_ensembles.hosting.replies import send, whole
from triton_ensembles.hosting.request import Invocation
from triton_ensembles.hosting.request_body import Body, BodyTooLarge
from triton_ensembles.hosting.triton_api import JSON_LENGTH
from triton_ensembles.server.ports import LOOPBACK
from triton_ensembles.triton.pip_server import VERSION

_log = logging.getLogger(__name__)
_MODEL = re.compile(r"/v2/models/(?P<name>[^/]+)(?P<version>/versions/[^/]+)?(?P<operation>/\w+)?")
_REPOSITORY = re.compile(r"/v2/repository/models/(?P<name>[^/]+)/(?P<verb>load|unload)")
_OPERATIONS = {None: "GET", "/infer": "POST", "/config": "GET", "/stats": "GET", "/ready": "GET"}
_HEADERS = ("Content-Type", "Content-Encoding", JSON_LENGTH)
_WHOLE_BYTES = 256 << 10  # smaller bodies are read whole, and can be sent a second time
_LARGEST_CONTROL = 1 << 20  # bytes of a load request
_EXTENSIONS = (
    *("classification", "sequence", "model_repository", "model_configuration"),
    *("binary_tensor_data", "parameters", "statistics"),
)
_PATHS = "/v2/models/NAME/infer, /v2/models/NAME, /v2/repository/index, /v2/health/ready, /invocations, /ping, /metrics"
T = TypeVar("T")


class Application:
    """Answers requests. Models of the room are loaded for them."""

    def __init__(self, settings: Settings, token: str, room: Room, report: HostReport, gateway: Gateway) -> None:
        self._settings = settings
        self._token = token.encode()
        self._room = room
        self._report = report
        self._gateway = gateway
        self._under_way = 0
        self.stopping = False

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. An error is JSON, as Triton has it: ``{"error": "…"}``."""
        try:
            answer = await self._admitted(request)
        except Refused as refusal:
            answer = refusal.response()
        except BodyTooLarge as error:
            answer = Refused(413, f"the body is larger than {error} bytes, the most that is taken here").response()
            answer.force_close()  # the rest of the body may be on its way
        except Exception as error:
            if request.transport is None or request.transport.is_closing():
                raise  # it failed because the client is gone: aiohttp deals with that
            _log.exception("%s %s failed", request.method, request.raw_path)
            reason = reason_of(error) or f"{type(error).__name__}; host.log says where"
            answer = Refused(500, f"the host failed: {reason}").response()
        for name, value in INERT.items() if not answer.prepared else ():
            answer.headers.setdefault(name, value)
        return answer

    async def _admitted(self, request: web.BaseRequest) -> web.StreamResponse:
        if why := why_refused(request.headers, on_loopback=self._settings.bind == LOOPBACK):
            raise Refused(403, why)
        path = request.raw_path.split("?")[0]
        if path in ("/v2/health/live", "/v2/health/ready"):
            up = path.endswith("live") or (self._room.ready and not self.stopping)
            return web.Response(status=200 if up else 503)
        if path == "/ping":
            _only(request, "GET")
            return await self._gateway.ping()
        sent = request.headers.get("Authorization", "").encode()
        if self._token and not hmac.compare_digest(sent, b"Bearer " + self._token):
            cure = "send the token of --token-file as Authorization: Bearer TOKEN"
            raise Refused(401, f"this host answers who knows its token; {cure}", {"WWW-Authenticate": "Bearer"})
        if path == "/":
            _only(request, "GET")
            return page(self._settings, self._room, self._report)
        if path == "/metrics":
            text = await asyncio.to_thread(generate_latest, self._report.registry)
            return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
        if self.stopping or self._under_way >= self._settings.requests_at_once:
            why = "the host is stopping" if self.stopping else "too many requests at once (--requests-at-once)"
            raise Refused(503, why, RETRY)
        self._under_way += 1
        try:
            return await self._answer(request, path)
        finally:
            self._under_way -= 1

    async def _statistics(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer with those of all models that are loaded."""
        models = []
        for name in self._room.loaded():
            with contextlib.suppress(HostingError):  # it is being unloaded
                entry = await self._room.find(name)
                reply = await self._room.answer(entry, await self._invocation(request, "/stats"))
                models += json.loads(described(await whole(reply), name))["model_stats"]
        return web.json_response({"model_stats": models})

    async def _answer(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        if path == "/v2/models/stats":
            _only(request, "GET")
            return await self._statistics(request)
        if match := _MODEL.fullmatch(path):
            method = _OPERATIONS.get(match["operation"])
            if method is None:
                raise Refused(404, f"a model has no {match['operation']} here; there are {_PATHS}")
            _only(request, method)
            return await self._ask(request, unquote(match["name"]), match["version"] or "", match["operation"] or "")
        if path == "/v2":
            _only(request, "GET")
            return web.json_response({"name": "triton", "version": VERSION, "extensions": _EXTENSIONS})
        if path == "/v2/repository/index":
            _only(request, "POST")
            asked = await self._control(request)
            models = [model for model in self._room.index() if model["state"] == "READY" or not asked.get("ready")]
            return web.json_response(models)
        if match := _REPOSITORY.fullmatch(path):
            _only(request, "POST")
            return await self._change(request, unquote(match["name"]), match["verb"])
        if path == "/invocations":
            _only(request, "POST")
            return await self._gateway.invoke(request, self._in_time(self._whole(request)))
        raise Refused(404, f"there is no {path[:200]}; there are {_PATHS}")

    async def _ask(self, request: web.BaseRequest, name: str, version: str, operation: str) -> web.StreamResponse:
        status = 0
        try:
            entry = await self._room.find(name)
            if operation == "/ready" and not version:
                return web.Response()  # it is loaded when it is requested
            reply = await self._room.answer(entry, await self._invocation(request, version + operation))
            status = reply.status
        except HostingError as error:
            refusal = Refused.of(error, name)
            status = 0 if isinstance(error, ArchiveMissing) else refusal.status  # clients may ask for any name
            raise refusal from None
        finally:
            if status:
                self._report.answered(name, status)
        if operation == "/infer":
            return await send(request, (reply := await renamed(reply, name)), reply.headers)
        if operation == "/ready":
            return web.Response()
        content = await whole(reply)
        return web.Response(body=described(content, name), headers={"Content-Type": "application/json"})

    async def _invocation(self, request: web.BaseRequest, operation: str) -> Invocation:
        body = Body(request, self._settings.largest_body)
        headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
        method = "POST" if operation.endswith("/infer") else "GET"  # also for a HEAD
        if body.length is None or body.length <= _WHOLE_BYTES:
            whole = await (body.whole() if body.arrived else self._in_time(body.whole()))
            return Invocation(whole, None, headers, None, method, operation)
        return Invocation(body.pieces(), None, headers, body.length, method, operation)

    async def _whole(self, request: web.BaseRequest) -> bytes:
        return await Body(request, self._gateway.largest_body).whole()

    async def _in_time(self, reading: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._settings.seconds):
                return await reading
        except TimeoutError:
            raise Refused(408, f"the request did not end within {self._settings.seconds:g} s") from None

    async def _change(self, request: web.BaseRequest, name: str, verb: str) -> web.StreamResponse:
        parameters = (await self._control(request)).get("parameters", {})
        if verb == "load" and parameters:
            raise Refused(400, "a load takes no config and no files here: put the archive where the others are")
        if verb == "unload" and self._room.is_pinned(name):
            raise Refused(400, f"'{name}' is pinned: it stays loaded")
        try:
            await (self._room.load(name) if verb == "load" else self._room.unload(name))
        except HostingError as error:
            raise Refused.of(error, name) from None
        return web.Response()

    async def _control(self, request: web.BaseRequest) -> dict[str, object]:
        text = await Body(request, _LARGEST_CONTROL).whole()
        try:
            asked = json.loads(text or b"{}")
        except ValueError as error:
            raise Refused(400, f"the request is not JSON: {error}") from None
        if not isinstance(asked, dict):
            raise Refused(400, "the request is not a JSON object")
        return asked


def _only(request: web.BaseRequest, method: str) -> None:
    if request.method not in (method, "HEAD" if method == "GET" else method):
        raise Refused(405, f"{request.raw_path[:200]} takes {method}", {"Allow": method})
