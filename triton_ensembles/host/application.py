"""KServe v2 over HTTP for the models of a room: every path that tritonclient.http asks for, but shared memory.

https://github.com/kserve/open-inference-protocol, and Triton's extensions: repository, statistics, configuration.
"""

import asyncio
import hmac
import json
import logging
import re
from collections.abc import Iterable
from urllib.parse import unquote

from aiohttp import web
from prometheus_client import generate_latest

from triton_ensembles.ground.web_pages import INERT, why_refused
from triton_ensembles.host.names import described, in_words, renamed
from triton_ensembles.host.report import HostReport
from triton_ensembles.host.room import Room
from triton_ensembles.host.settings import Settings
from triton_ensembles.hosting.errors import (
    ArchiveMissing,
    HostingError,
    LoadFailed,
    ModelError,
    ModelNotReadyException,
    ServiceUnavailable,
)
from triton_ensembles.hosting.replies import send
from triton_ensembles.hosting.request import Invocation, Pieces
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
_RETRY = {"Retry-After": "1"}
_PATHS = "/v2/models/NAME/infer, /v2/models/NAME, /v2/repository/index, /v2/health/ready and /metrics"


class Refused(Exception):
    """A request gets this status and sentence."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


class Application:
    """Answers requests. Models of the room are loaded for them."""

    def __init__(self, settings: Settings, token: str, room: Room, report: HostReport) -> None:
        self._settings = settings
        self._token = token.encode()
        self._room = room
        self._report = report
        self._under_way = 0
        self.stopping = False

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. An error is JSON, as Triton has it: ``{"error": "…"}``."""
        try:
            answer = await self._admitted(request)
        except Refused as refusal:
            answer = _error(refusal.status, str(refusal), refusal.headers)
        except BodyTooLarge:
            answer = _error(413, f"the body is larger than {self._settings.largest_body} bytes (--largest-body)")
            answer.force_close()  # the rest of the body may be on its way
        except Exception as error:
            if request.transport is None or request.transport.is_closing():
                raise  # it failed because the client is gone: aiohttp deals with that
            _log.exception("%s %s failed", request.method, request.raw_path)
            answer = _error(500, f"the host failed ({type(error).__name__}); host.log says where")
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
        sent = request.headers.get("Authorization", "").encode()
        if self._token and not hmac.compare_digest(sent, b"Bearer " + self._token):
            cure = "send the token of --token-file as Authorization: Bearer TOKEN"
            raise Refused(401, f"this host answers who knows its token; {cure}", **{"WWW-Authenticate": "Bearer"})
        if path == "/metrics":
            text = await asyncio.to_thread(generate_latest, self._report.registry)
            return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
        if self.stopping or self._under_way >= self._settings.requests_at_once:
            why = "the host is stopping" if self.stopping else "too many requests at once (--requests-at-once)"
            raise Refused(503, why, **_RETRY)
        self._under_way += 1
        try:
            return await self._answer(request, path)
        finally:
            self._under_way -= 1

    async def _answer(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
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
            answer = _of(error, name)
            status = 0 if isinstance(error, ArchiveMissing) else answer.status  # clients may ask for any name
            return answer
        finally:
            if status:
                self._report.answered(name, status)
        if operation == "/infer":
            return await send(request, (reply := await renamed(reply, name)), reply.headers)
        if operation == "/ready":
            return web.Response()
        content = await _whole(reply.body)
        return web.Response(body=described(content, name), headers={"Content-Type": "application/json"})

    async def _invocation(self, request: web.BaseRequest, operation: str) -> Invocation:
        body = Body(request, self._settings.largest_body)
        whole = body.length is None or body.length <= _WHOLE_BYTES
        try:
            async with asyncio.timeout(self._settings.seconds):
                content = await body.whole() if whole else body.pieces()
        except TimeoutError:
            raise Refused(408, f"the request did not end within {self._settings.seconds:g} s") from None
        headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
        length = None if whole else body.length
        return Invocation(content, None, headers, length, request.method, operation)

    async def _change(self, request: web.BaseRequest, name: str, verb: str) -> web.StreamResponse:
        parameters = (await self._control(request)).get("parameters", {})
        if verb == "load" and parameters:
            raise Refused(400, "a load takes no config and no files here: put the archive where the others are")
        if verb == "unload" and self._room.is_pinned(name):
            raise Refused(400, f"'{name}' is pinned: it stays loaded")
        try:
            await (self._room.load(name) if verb == "load" else self._room.unload(name))
        except HostingError as error:
            return _of(error, name)
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
        raise Refused(405, f"{request.raw_path[:200]} takes {method}", Allow=method)


async def _whole(body: bytes | Pieces) -> bytes:
    return body if isinstance(body, bytes) else b"".join([piece async for piece in body])


def _of(error: HostingError, name: str) -> web.Response:
    """The answer for an error: Triton's own status and message, where it is Triton's."""
    message, headers = error.message, {}
    status = 500
    if isinstance(error, ArchiveMissing):
        status = 404
    elif isinstance(error, ModelError) and not isinstance(error, LoadFailed):
        status, message = error.original_status or 504, error.original_message if error.original_status else message
    elif isinstance(error, ModelNotReadyException | ServiceUnavailable):
        status, headers = 503, _RETRY
    return _error(status, in_words(message, name), headers)


def _error(status: int, message: str, headers: dict[str, str] | Iterable[tuple[str, str]] = ()) -> web.Response:
    return web.json_response({"error": message}, status=status, headers=dict(headers))
