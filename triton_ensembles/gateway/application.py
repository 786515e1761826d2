"""The gateway's routes: /ping and /invocations of SageMaker's contract, and /metrics."""

import asyncio

from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import to_json

from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.invocation import ATTRIBUTES, Invocation, KServe, read_invocation
from triton_ensembles.gateway.metrics import Metrics
from triton_ensembles.gateway.models_toml import Model, Table
from triton_ensembles.gateway.payloads import decode, encode
from triton_ensembles.gateway.triton import Triton
from triton_ensembles.ground.web_pages import INERT, why_refused

_PING_SECONDS = 1.5  # SageMaker waits 2 s for the answer
_ENDED_STUB = " is not healthy."  # Stub process '…' …: python_backend r24.10 python_be.cc
_PATHS = ("/invocations", "/ping", "/metrics")
_HEADERS = ("Content-Encoding", "Content-Type", ATTRIBUTES)


class Gateway:
    """Answers with the models of one table.

    To be run with ``handler_cancellation``, so that a request ends when its client goes away. ``on_loopback``: programs
    of this machine are its only clients, so that a Host which names another is a web page's.
    """

    def __init__(self, table: Table, triton: Triton, *, on_loopback: bool) -> None:
        self._table, self._triton, self._metrics = table, triton, Metrics(table)
        self._on_loopback = on_loopback
        self._ended = ""  # why no request of some model can be answered any more
        self.application = web.Application(middlewares=[_as_json, self._no_page], client_max_size=table.largest_body)
        self.application.on_response_prepare.append(_make_inert)
        self.application.router.add_post("/invocations", self._invocations, expect_handler=_continue)
        self.application.router.add_get("/ping", self._ping)
        self.application.router.add_get("/metrics", self._scrape)

    @web.middleware
    async def _no_page(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if why := why_refused(request.headers, on_loopback=self._on_loopback):
            raise Refused(403, why)
        return await handler(request)

    async def _ping(self, _request: web.Request) -> web.Response:
        """200 when every model of the table is ready and is what the table says; else 503 and why.

        Triton still calls a model ready whose process has ended, and never starts it again: only a new container helps.
        """
        if self._ended:
            raise Refused(503, self._ended)
        reasons = await asyncio.gather(*map(self._not_ready, self._table.models))
        if any(reasons):
            raise Refused(503, "; ".join(filter(None, reasons)))
        return web.Response(text="\n")

    async def _not_ready(self, model: Model) -> str:
        """The reason; "" when the model is ready."""
        try:
            async with asyncio.timeout(_PING_SECONDS):
                if not await self._triton.ready(model):
                    return f"{model} is not ready"
                await self._triton.signature(model)
        except TimeoutError:
            return f"Triton is not ready: no answer within {_PING_SECONDS:g} s"
        except Refused as refusal:
            return str(refusal)
        return ""

    async def _scrape(self, _request: web.Request) -> web.Response:
        return _response(200, self._metrics.text(), CONTENT_TYPE_LATEST)

    async def _invocations(self, request: web.Request) -> web.Response:
        try:
            headers = {name: ",".join(request.headers.getall(name, ())) for name in _HEADERS}
            invocation = read_invocation(self._table, headers, await request.read())
        except BaseException as error:
            self._metrics.count_failure(error)
            raise
        model = invocation.model
        with self._metrics.measure(model):
            try:
                async with asyncio.timeout(model.seconds):
                    return await self._answer(invocation)
            except Refused as refusal:
                if _ENDED_STUB in str(refusal):
                    self._ended = f"a process of {model} has ended: {refusal}"
                raise
            except TimeoutError:
                raise Refused(504, f"{model} did not answer within {model.seconds:g} s") from None

    async def _answer(self, invocation: Invocation) -> web.Response:
        model, payload = invocation.model, invocation.payload
        if isinstance(payload, KServe):
            return _response(200, *await self._triton.forward(model, payload))
        signature = await self._triton.signature(model)
        result = decode(model, signature, await self._triton.infer(model, encode(model, signature, payload)))
        answer = {"modelname": model.name, "version": model.version, "result": result}
        return _response(200, to_json(answer, inf_nan_mode="null"))


@web.middleware
async def _as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers errors as ``{"error": …}``."""
    try:
        return await handler(request)
    except Refused as refusal:
        return _refusal(refusal)
    except web.HTTPRequestEntityTooLarge:
        return _too_large(request)
    except web.HTTPNotFound:
        return _refusal(Refused(404, f"there is nothing here but {', '.join(_PATHS)}"))
    except web.HTTPMethodNotAllowed as error:
        methods = sorted(error.allowed_methods)
        return _refusal(Refused(405, f"{request.path} takes {' and '.join(methods)}"), Allow=", ".join(methods))


async def _make_inert(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(INERT)


async def _continue(request: web.Request) -> web.Response | None:
    """The answer to ``Expect: 100-continue``, before the body has been sent."""
    if (request.content_length or 0) > request.client_max_size:
        return _too_large(request)
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    return None


def _too_large(request: web.Request) -> web.Response:
    most = f"{request.client_max_size} bytes, the most that is taken here"
    response = _refusal(Refused(413, f"the body is larger than {most}"))
    response.force_close()  # the rest of the body may be on its way
    return response


def _refusal(refusal: Refused, **headers: str) -> web.Response:
    response = _response(refusal.status, to_json(refusal.body))
    response.headers.update(headers)
    return response


def _response(status: int, body: bytes, media_type: str = "application/json") -> web.Response:
    return web.Response(status=status, body=body, headers={"Content-Type": media_type})
