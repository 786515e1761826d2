"""The Triton beside the gateway: KServe v2 over gRPC, on connections that stay open."""

import asyncio
from typing import Any

import aiohttp
from tritonclient.grpc import service_pb2 as kserve

from triton_ensembles.gateway import http2
from triton_ensembles.gateway.asked import BINARY, KServe
from triton_ensembles.gateway.channel import Channel
from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.http2 import Lost, RpcError
from triton_ensembles.gateway.table import Model
from triton_ensembles.gateway.tensors import Signature, Tensor, misfit

_HEADER_LENGTH = "Inference-Header-Content-Length"
_LOST_SECONDS = 5.0  # that a request waits when Triton is gone: the container ends meanwhile, and another one answers
_STATUS = {
    http2.INVALID_ARGUMENT: 400,
    http2.NOT_FOUND: 503,  # the table names it, so it is Triton that lacks it
    http2.UNAVAILABLE: 503,
    http2.RESOURCE_EXHAUSTED: 503,
}


class Triton:
    """The client of one server, for every model of a table. To be made on the event loop that uses it.

    Its methods take as long as Triton does; one that is canceled is canceled at Triton.

    Args:
        grpc_url: ``127.0.0.1:8001``.
        http_url: ``127.0.0.1:8000``, where bodies of KServe v2 go as they are.
    """

    def __init__(self, grpc_url: str, http_url: str) -> None:
        self._http_url = http_url
        self._grpc = Channel(grpc_url, "inference.GRPCInferenceService")
        self._signatures: dict[Model, Signature] = {}
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            skip_auto_headers=("Accept-Encoding", "User-Agent"),
        )

    async def signature(self, model: Model) -> Signature:
        """Triton's description of the model, asked for until it fits the table.

        Raises:
            Refused: 503 while it is not ready, 500 when it does not fit.
        """
        if found := self._signatures.get(model):
            return found
        named = {"name": model.served, "version": model.model_version}
        about, configured = kserve.ModelMetadataRequest(**named), kserve.ModelConfigRequest(**named)
        try:
            metadata = await self._ask("ModelMetadata", about, kserve.ModelMetadataResponse)
            config = await self._ask("ModelConfig", configured, kserve.ModelConfigResponse)
        except RpcError as error:
            await _wait_if_lost(error)
            raise Refused(503, f"{model} is not ready: {error}") from None
        batches = config.config.max_batch_size > 0
        inputs, outputs = (
            {each.name: Tensor(each.datatype, tuple(each.shape), batches) for each in tensors}
            for tensors in (metadata.inputs, metadata.outputs)
        )
        signature = Signature(inputs, outputs)
        if fault := misfit(model, signature):
            raise Refused(500, fault)
        self._signatures[model] = signature
        return signature

    async def ready(self, model: Model) -> bool:
        """Whether Triton answers inference requests for the model."""
        request = kserve.ModelReadyRequest(name=model.served, version=model.model_version)
        try:
            return bool((await self._ask("ModelReady", request, kserve.ModelReadyResponse)).ready)
        except RpcError:
            return False

    async def listens(self) -> bool:
        """Whether Triton takes requests over HTTP, which it does a little later than over gRPC."""
        try:
            async with self._http.get(f"http://{self._http_url}/v2/health/live") as answer:
                return answer.ok
        except aiohttp.ClientError:
            return False

    async def infer(self, model: Model, request: kserve.ModelInferRequest) -> kserve.ModelInferResponse:
        """Raises :class:`Refused` with Triton's own message: 400, 503 or 500."""
        try:
            return await self._ask("ModelInfer", request, kserve.ModelInferResponse)
        except RpcError as error:
            await _wait_if_lost(error)
            status, what = _STATUS.get(error.status, 500), str(model)
            if status == 400 and len(fields := [f"payload.{each.field}" for each in model.inputs.values()]) == 1:
                what = f"{fields[0]} cannot be used by {model}"
            raise Refused(status, f"{what}: {error}") from None

    async def forward(self, model: Model, body: KServe) -> tuple[int, str, bytes]:
        """Send a body of KServe v2 as it is. Returns the status, the media type and the body of Triton's answer."""
        version = f"/versions/{model.model_version}" if model.model_version else ""
        url = f"http://{self._http_url}/v2/models/{model.served}{version}/infer"
        sent = {"Content-Type": "application/json"}
        if body.header_size is not None:
            sent = {"Content-Type": "application/octet-stream", _HEADER_LENGTH: str(body.header_size)}
        try:
            async with self._http.post(url, data=body.body, headers=sent) as answer:
                content, size = await answer.read(), answer.headers.get(_HEADER_LENGTH)
        except aiohttp.ClientError as error:
            await asyncio.sleep(_LOST_SECONDS)
            raise Refused(503, f"{model}: Triton cannot be reached: {error}") from None
        kind = f"{BINARY};json-header-size={size}" if size else answer.headers.get("Content-Type", "application/json")
        return answer.status, kind, content

    async def close(self) -> None:
        self._grpc.close()
        await self._http.close()

    async def _ask(self, method: str, request: Any, answer: Any) -> Any:
        """``answer``: the class of the message that the method answers with."""
        return answer.FromString(await self._grpc.call(method, request.SerializeToString()))


async def _wait_if_lost(error: Exception) -> None:
    if isinstance(error, Lost):
        await asyncio.sleep(_LOST_SECONDS)
