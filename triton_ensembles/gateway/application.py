"""The gateway as an ASGI application: /ping and /invocations of SageMaker's contract, and /metrics."""

import asyncio
import json

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from triton_ensembles.gateway.asked import Asked, KServe, read_request
from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.meters import Meters
from triton_ensembles.gateway.table import Model, Table
from triton_ensembles.gateway.tensors import decode, encode, misfit
from triton_ensembles.gateway.triton import Triton

_PING_SECONDS = 1.5  # SageMaker waits 2 s for the answer


class Gateway:
    """Answers with the models of one table."""

    def __init__(self, table: Table, triton: Triton) -> None:
        self._table, self._triton, self._meters = table, triton, Meters()

    def application(self) -> Starlette:
        """The routes, and errors as JSON."""
        return Starlette(
            routes=[
                Route("/ping", self._ping),
                Route("/invocations", self._invoke, methods=["POST"]),
                Route("/metrics", self._metrics),
            ]
        )

    async def _ping(self, _request: Request) -> Response:
        """200 when every model of the table is ready and is what the table says; else 503 and why."""
        why = [each for each in await asyncio.gather(*map(self._not_ready, self._table.models)) if each]
        return JSONResponse({"error": "; ".join(why)}, 503) if why else Response(b"\n")

    async def _not_ready(self, model: Model) -> str:
        if not await self._triton.ready(model, _PING_SECONDS):
            return f"{model} is not ready"
        try:
            return misfit(model, await self._triton.signature(model))
        except Refused as refusal:
            return str(refusal)

    async def _metrics(self, _request: Request) -> Response:
        return Response(self._meters.text(), media_type=CONTENT_TYPE_LATEST)

    async def _invoke(self, request: Request) -> Response:
        try:
            asked = read_request(self._table, request.headers, await self._body(request))
        except Refused as refusal:
            self._meters.refused(refusal.status)
            return JSONResponse(refusal.body, refusal.status)
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody reads
        try:
            with self._meters.measure(asked.model):
                return await self._answer(asked)
        except Refused as refusal:
            return JSONResponse(refusal.body, refusal.status)

    async def _answer(self, asked: Asked) -> Response:
        model, payload = asked.model, asked.payload
        if isinstance(payload, KServe):
            status, kind, content = await self._triton.forward(model, payload)
            if status >= 400:
                raise Refused(status, _message(content))
            return Response(content, media_type=kind)
        signature = await self._triton.signature(model)
        if fault := misfit(model, signature):
            raise Refused(500, fault)
        response = await self._triton.infer(model, encode(model, signature, payload))
        result = decode(model, signature, response)
        return JSONResponse({"modelname": model.name, "version": model.version, "result": result})

    async def _body(self, request: Request) -> bytes:
        most = self._table.largest_body
        if int(request.headers.get("content-length", "0")) > most:
            raise _too_large(most)
        pieces, size = [], 0
        async for piece in request.stream():
            size += len(piece)
            if size > most:
                raise _too_large(most)
            pieces.append(piece)
        return b"".join(pieces)


def _too_large(most: int) -> Refused:
    return Refused(413, f"the body is larger than {most} bytes, the most that is taken here")


def _message(content: bytes) -> str:
    """The text of Triton's ``{"error": "…"}``."""
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return content.decode(errors="replace")
