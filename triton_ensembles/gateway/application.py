"""The gateway as an ASGI application: /ping and /invocations of SageMaker's contract, and /metrics."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import from_json, to_json

from triton_ensembles.gateway.asgi import JSON, Receive, Scope, Send, Watch, answer, headers_of, read_body
from triton_ensembles.gateway.asked import Asked, KServe, read_request
from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.meters import Meters
from triton_ensembles.gateway.table import Model, Table
from triton_ensembles.gateway.tensors import decode, encode
from triton_ensembles.gateway.triton import Triton

_PING_SECONDS = 1.5  # SageMaker waits 2 s for the answer
_READ = ("GET", "HEAD")


class Gateway:
    """Answers with the models of one table."""

    def __init__(self, table: Table, triton: Triton) -> None:
        self._table, self._triton, self._meters = table, triton, Meters(table)
        self._routes = {
            "/invocations": (("POST",), self._invocations),
            "/ping": (_READ, self._ping),
            "/metrics": (_READ, self._metrics),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI's entry, for HTTP alone."""
        methods, respond = self._routes.get(scope["path"], ((), None))
        if respond is None:
            await _refuse(send, Refused(404, f"there is nothing here but {', '.join(self._routes)}"))
        elif scope["method"] not in methods:
            await _refuse(
                send, Refused(405, f"{scope['path']} takes {' and '.join(methods)}"), allow=", ".join(methods)
            )
        else:
            await respond(scope, receive, send)

    async def _ping(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """200 when every model of the table is ready and is what the table says; else 503 and why."""
        asked = (self._not_listening(), *map(self._not_ready, self._table.models))
        why = [each for each in await asyncio.gather(*map(_in_time, asked)) if each]
        await (_refuse(send, Refused(503, "; ".join(why))) if why else answer(send, 200, b"\n", "text/plain"))

    async def _not_listening(self) -> str:
        return "" if await self._triton.listens() else "Triton is not ready: it does not listen for HTTP"

    async def _not_ready(self, model: Model) -> str:
        if not await self._triton.ready(model):
            return f"{model} is not ready"
        try:
            await self._triton.signature(model)
        except Refused as refusal:
            return str(refusal)
        return ""

    async def _metrics(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await answer(send, 200, self._meters.text(), CONTENT_TYPE_LATEST)

    async def _invocations(self, scope: Scope, receive: Receive, send: Send) -> None:
        model = None
        try:
            headers = headers_of(scope)
            asked = read_request(self._table, headers, await read_body(headers, receive, self._table.largest_body))
            model = asked.model
            late = Refused(504, f"{model} did not answer within {model.seconds:g} s")
            with self._meters.measure(model), Watch(receive, model.seconds, late):
                content, kind = await self._answer(asked)
        except Refused as refusal:
            if model is None:
                self._meters.refused(refusal.status)
            await _refuse(send, refusal)
        else:
            await answer(send, 200, content, kind)

    async def _answer(self, asked: Asked) -> tuple[bytes, str]:
        """The answer and its media type."""
        model, payload = asked.model, asked.payload
        if isinstance(payload, KServe):
            status, kind, content = await self._triton.forward(model, payload)
            if status >= 400:
                raise Refused(status, _message(content))
            return content, kind
        signature = await self._triton.signature(model)
        result = decode(model, signature, await self._triton.infer(model, encode(model, signature, payload)))
        said = {"modelname": model.name, "version": model.version, "result": result}
        return to_json(said, inf_nan_mode="null"), JSON


async def _in_time(why: Coroutine[Any, Any, str]) -> str:
    try:
        async with asyncio.timeout(_PING_SECONDS):
            return await why
    except TimeoutError:
        return f"Triton is not ready: no answer within {_PING_SECONDS:g} s"


async def _refuse(send: Send, refusal: Refused, **headers: str) -> None:
    await answer(send, refusal.status, to_json(refusal.body), **headers)


def _message(content: bytes) -> str:
    """The text of Triton's ``{"error": "…"}``."""
    try:
        return str(from_json(content)["error"])
    except (ValueError, KeyError, TypeError):
        return content.decode(errors="replace")
