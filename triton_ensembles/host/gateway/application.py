"""/invocations and /ping of SageMaker's contract, answered by the models of a host."""

import asyncio
from collections.abc import Awaitable

from aiohttp import web
from pydantic_core import from_json, to_json
from tritonclient.http import InferenceServerClient, InferRequestedOutput

from triton_ensembles.host.catalog import Entry
from triton_ensembles.host.gateway.invocation import ATTRIBUTES, BINARY, Invocation, KServe, Payload, read_invocation
from triton_ensembles.host.gateway.models_toml import Model, Table
from triton_ensembles.host.gateway.payloads import Signature, Tensor, decode, encode, misfit
from triton_ensembles.host.names import renamed
from triton_ensembles.host.refusal import RETRY, Refused
from triton_ensembles.host.report import HostReport
from triton_ensembles.host.room import Room
from triton_ensembles.hosting import request as to_triton
from triton_ensembles.hosting.errors import HostingError
from triton_ensembles.hosting.replies import send, whole
from triton_ensembles.hosting.triton_api import JSON_LENGTH

_PING_SECONDS = 1.5  # SageMaker waits 2 s for the answer
_HEADERS = ("Content-Encoding", "Content-Type", ATTRIBUTES)
_GET = to_triton.Invocation(b"", method="GET")


class Gateway:
    """Answers with the models of one table, and by their own names with all others of the room."""

    def __init__(self, table: Table, room: Room, report: HostReport) -> None:
        self.largest_body = table.largest_body
        self._table, self._room = table, room
        self._report = report
        self._signatures: dict[Model, tuple[str, Signature]] = {}  # with the key of the entry

    async def ping(self) -> web.Response:
        """Answer 200 when every model of the table, and what else is pinned, is ready and is what the table says.

        Raises Refused: 503 and why.
        """
        faults = self._room.faults()
        models = self._table.models
        reasons = await asyncio.gather(*(self._fault(model, faults.get(model.served, "")) for model in models))
        reasons += [f"{name}: {fault}" for name, fault in faults.items() if name not in {m.served for m in models}]
        if not self._room.ready or any(reasons):
            raise Refused(503, "; ".join(filter(None, reasons)) or "tritonserver is not ready")
        return web.Response(text="\n")

    async def _fault(self, model: Model, fault: str) -> str:
        if fault:
            return f"{model}: {fault}"
        try:
            async with asyncio.timeout(_PING_SECONDS):
                entry = await self._room.find(model.served)
                await self._ask(entry, model, "/ready", _GET)
                await self._signature(entry, model)
        except TimeoutError:
            return f"{model}: not ready: no answer within {_PING_SECONDS:g} s"
        except HostingError as error:
            return f"{model}: not ready: {error.message}"
        except Refused as refusal:
            return str(refusal)
        return ""

    async def invoke(self, request: web.BaseRequest, reading: Awaitable[bytes]) -> web.StreamResponse:
        """Answer a request to /invocations. Raises Refused, or what ``reading`` its body raises."""
        headers = {name: ",".join(request.headers.getall(name, ())) for name in _HEADERS}
        invocation = read_invocation(self._table, headers, await reading)
        entry = await self._found(invocation.model)
        try:
            reply = await self._answer(entry, invocation)
        except Refused as refusal:
            self._report.answered(entry.name, refusal.status)
            raise
        self._report.answered(entry.name, reply.status)
        return await send(request, reply, reply.headers)

    async def _found(self, model: Model) -> Entry:
        try:
            return await self._room.find(model.served)
        except HostingError as error:
            raise Refused.of(error, model.served) from None

    async def _answer(self, entry: Entry, invocation: Invocation) -> to_triton.Reply:
        model = invocation.model
        late = f"{model} did not answer within {model.seconds:g} s"
        try:
            async with asyncio.timeout(model.seconds):
                if isinstance(invocation.payload, KServe):
                    return await self._forward(entry, model, invocation.payload)
                return await self._infer(entry, model, invocation.payload)
        except TimeoutError:
            raise Refused(504, late) from None
        except HostingError as error:
            refusal = Refused.of(error, entry.name)
        if isinstance(invocation.payload, KServe):
            raise refusal
        subject = str(model)
        if refusal.status == 400 and len(model.inputs) == 1:
            (source,) = model.inputs.values()
            subject = f"payload.{source.field} cannot be used by {model}"
        reason = late if refusal.status == 504 else f"{subject}: {refusal}"
        raise Refused(refusal.status, reason, RETRY if refusal.status == 503 else None)

    async def _forward(self, entry: Entry, model: Model, body: KServe) -> to_triton.Reply:
        """Triton's answer to a body of KServe v2, which is sent as it is."""
        headers = {"Content-Type": "application/json"}
        if body.header_size is not None:
            headers = {"Content-Type": "application/octet-stream", JSON_LENGTH: str(body.header_size)}
        asked = to_triton.Invocation(body.body, headers=headers)
        reply = await renamed(await self._ask(entry, model, "/infer", asked), entry.name)
        if size := reply.headers.get(JSON_LENGTH):
            return reply._replace(headers={"Content-Type": f"{BINARY};json-header-size={size}"})
        return reply

    async def _infer(self, entry: Entry, model: Model, payload: Payload) -> to_triton.Reply:
        signature = await self._signature(entry, model)
        outputs = [InferRequestedOutput(name) for name in model.outputs]
        inputs = encode(model, signature, payload)
        body, length = InferenceServerClient.generate_request_body(inputs, outputs=outputs)
        reply = await self._ask(
            entry, model, "/infer", to_triton.Invocation(body, headers={JSON_LENGTH: str(length)} if length else {})
        )
        size = reply.headers.get(JSON_LENGTH)
        response = InferenceServerClient.parse_response_body(await whole(reply), header_length=size and int(size))
        result = decode(model, signature, response)
        answer = to_json({"modelname": model.name, "version": model.version, "result": result}, inf_nan_mode="null")
        return reply._replace(headers={"Content-Type": "application/json"}, body=answer, content_length=len(answer))

    async def _signature(self, entry: Entry, model: Model) -> Signature:
        """Triton's description of the model. Raises HostingError, or Refused (500) when it does not fit the table."""
        key, signature = self._signatures.get(model, ("", None))
        if signature is not None and key == entry.key:
            return signature
        metadata = from_json(await whole(await self._ask(entry, model, "", _GET)))
        config = from_json(await whole(await self._ask(entry, model, "/config", _GET)))
        batches = config.get("max_batch_size", 0) > 0
        inputs, outputs = (
            {tensor["name"]: Tensor(tensor["datatype"], tuple(tensor["shape"]), batches) for tensor in metadata[kind]}
            for kind in ("inputs", "outputs")
        )
        signature = Signature(inputs, outputs)
        if fault := misfit(model, signature):
            raise Refused(500, fault)
        self._signatures[model] = entry.key, signature
        return signature

    async def _ask(self, entry: Entry, model: Model, operation: str, asked: to_triton.Invocation) -> to_triton.Reply:
        version = f"/versions/{model.model_version}" if model.model_version else ""
        return await self._room.answer(entry, asked._replace(operation=version + operation))
