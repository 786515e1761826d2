"""The Triton beside the gateway: KServe v2 over gRPC, on connections that stay open."""

import asyncio

import aiohttp
import grpc
import grpc.aio
from tritonclient.grpc import service_pb2 as kserve
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from triton_ensembles.gateway.asked import BINARY, KServe
from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.table import Model
from triton_ensembles.gateway.tensors import Signature, Tensor

_HEADER_LENGTH = "Inference-Header-Content-Length"
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),  # a connection each: no model's large messages hold up another's
)
_LOST_SECONDS = 5.0  # that a request waits when Triton is gone: the container ends meanwhile, and another one answers
_STATUS = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.NOT_FOUND: 503,  # the table names it, so it is Triton that lacks it
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 503,
}


class Triton:
    """The client of one server, for every model of a table. To be made on the event loop that uses it.

    Args:
        grpc_url: ``127.0.0.1:8001``.
        http_url: ``127.0.0.1:8000``, where bodies of KServe v2 go as they are.
    """

    def __init__(self, grpc_url: str, http_url: str) -> None:
        self._grpc_url, self._http_url = grpc_url, http_url
        self._channels: dict[Model, grpc.aio.Channel] = {}
        self._stubs: dict[Model, GRPCInferenceServiceStub] = {}
        self._signatures: dict[Model, Signature] = {}
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            skip_auto_headers=("Accept-Encoding", "User-Agent"),
        )

    async def signature(self, model: Model) -> Signature:
        """Triton's description of the model, asked for once. Raises :class:`Refused` (503) while it is not ready."""
        if found := self._signatures.get(model):
            return found
        stub, which = self._stub(model), {"name": model.model, "version": model.model_version}
        try:
            metadata = await stub.ModelMetadata(kserve.ModelMetadataRequest(**which), timeout=model.seconds)
            config = await stub.ModelConfig(kserve.ModelConfigRequest(**which), timeout=model.seconds)
        except grpc.aio.AioRpcError as error:
            await self._wait_if_lost(model)
            raise Refused(503, f"{model} is not ready: {error.details()}") from None
        batches = config.config.max_batch_size > 0
        inputs, outputs = (
            {each.name: Tensor(each.datatype, tuple(each.shape), batches) for each in tensors}
            for tensors in (metadata.inputs, metadata.outputs)
        )
        self._signatures[model] = Signature(inputs, outputs)
        return self._signatures[model]

    async def ready(self, model: Model, seconds: float) -> bool:
        """Whether Triton answers inference requests for the model."""
        request = kserve.ModelReadyRequest(name=model.model, version=model.model_version)
        try:
            return bool((await self._stub(model).ModelReady(request, timeout=seconds)).ready)
        except grpc.aio.AioRpcError:
            return False

    async def infer(self, model: Model, request: kserve.ModelInferRequest) -> kserve.ModelInferResponse:
        """Raises :class:`Refused` with Triton's own message: 400, 503, 504 or 500."""
        try:
            return await self._stub(model).ModelInfer(request, timeout=model.seconds)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise Refused(504, f"{model} did not answer within {model.seconds:g} s") from None
            await self._wait_if_lost(model)
            raise Refused(_STATUS.get(error.code(), 500), f"{model}: {error.details()}") from None

    async def forward(self, model: Model, body: KServe) -> tuple[int, str, bytes]:
        """Send a body of KServe v2 as it is. Returns the status, the media type and the body of Triton's answer."""
        version = f"/versions/{model.model_version}" if model.model_version else ""
        url = f"http://{self._http_url}/v2/models/{model.model}{version}/infer"
        sent = {"Content-Type": "application/json"}
        if body.header_size is not None:
            sent = {"Content-Type": "application/octet-stream", _HEADER_LENGTH: str(body.header_size)}
        try:
            async with asyncio.timeout(model.seconds), self._http.post(url, data=body.body, headers=sent) as answer:
                content, size = await answer.read(), answer.headers.get(_HEADER_LENGTH)
        except TimeoutError:
            raise Refused(504, f"{model} did not answer within {model.seconds:g} s") from None
        except aiohttp.ClientError as error:
            await asyncio.sleep(_LOST_SECONDS)
            raise Refused(503, f"{model}: Triton cannot be reached: {error}") from None
        kind = f"{BINARY};json-header-size={size}" if size else answer.headers.get("Content-Type", "application/json")
        return answer.status, kind, content

    async def close(self) -> None:
        await self._http.close()
        await asyncio.gather(*(channel.close() for channel in self._channels.values()))

    async def _wait_if_lost(self, model: Model) -> None:
        if self._channels[model].get_state() is not grpc.ChannelConnectivity.READY:
            await asyncio.sleep(_LOST_SECONDS)

    def _stub(self, model: Model) -> GRPCInferenceServiceStub:
        if model not in self._stubs:
            channel = grpc.aio.insecure_channel(self._grpc_url, options=_OPTIONS)
            self._channels[model] = channel
            self._stubs[model] = GRPCInferenceServiceStub(channel)
        return self._stubs[model]
