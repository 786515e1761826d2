"""The client of the Triton beside the gateway.

Inference is over gRPC, because only there does Triton learn that a request is no longer wanted; over HTTP (2.51.0) it
computes on for a client that has gone. Bodies of KServe v2 pass through over HTTP, as they are.
"""

import asyncio

import aiohttp
from tritonclient.grpc import InferInput, InferRequestedOutput, InferResult
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException

from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.invocation import BINARY, KServe
from triton_ensembles.gateway.models_toml import Model
from triton_ensembles.gateway.payloads import Signature, Tensor, misfit
from triton_ensembles.server.repository_api import error_in
from triton_ensembles.server.sockets import UNIX

_HEADER_LENGTH = "Inference-Header-Content-Length"
_LOST_SECONDS = 5.0  # that a request waits when Triton is gone: the container ends meanwhile, and another one answers
_CHANNEL = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_http_proxy", 0),
)
_UNAVAILABLE = "StatusCode.UNAVAILABLE"
_STATUS = {
    "StatusCode.INVALID_ARGUMENT": 400,
    "StatusCode.NOT_FOUND": 503,  # the table names it, so it is Triton that lacks it
    "StatusCode.RESOURCE_EXHAUSTED": 503,
    _UNAVAILABLE: 503,
}


class Triton:
    """The client of one server, for every model of a table. To be made on its event loop.

    The addresses are ``unix:PATH``. The methods take as long as Triton does.
    """

    def __init__(self, grpc_url: str, http_url: str) -> None:
        self._signatures: dict[Model, Signature] = {}
        self._client = InferenceServerClient(grpc_url, channel_args=_CHANNEL)
        self._session = aiohttp.ClientSession(
            "http://tritonserver",
            connector=aiohttp.UnixConnector(http_url.removeprefix(UNIX), limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            skip_auto_headers=("Accept-Encoding", "User-Agent"),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def ready(self, model: Model) -> bool:
        """Return whether Triton answers inference requests for the model, also over HTTP, which begins to listen
        last."""
        return await self._succeeds(f"{_path(model)}/ready")

    async def names(self) -> frozenset[str] | None:
        """The models of its repositories, loaded or not; None when it does not say, or listens not yet.

        Over HTTP it listens when it has loaded what it loads at the start.
        """
        try:
            async with self._session.post("/v2/repository/index") as response:
                return frozenset(item["name"] for item in await response.json()) if response.ok else None
        except aiohttp.ClientError:
            return None

    async def signature(self, model: Model) -> Signature:
        """Triton's description of the model. Raises Refused: 503 while it is not ready, 500 when it does not fit."""
        if signature := self._signatures.get(model):
            return signature
        try:
            metadata = await self._client.get_model_metadata(model.served, model.model_version)
            config = await self._client.get_model_config(model.served, model.model_version)
        except InferenceServerException as error:
            await self._wait_if_lost(error)
            raise Refused(503, f"{model} is not ready: {error.message()}") from None
        batches = config.config.max_batch_size > 0
        inputs, outputs = (
            {tensor.name: Tensor(tensor.datatype, tuple(tensor.shape), batches) for tensor in tensors}
            for tensors in (metadata.inputs, metadata.outputs)
        )
        signature = Signature(inputs, outputs)
        if fault := misfit(model, signature):
            raise Refused(500, fault)
        self._signatures[model] = signature
        return signature

    async def infer(self, model: Model, inputs: list[InferInput]) -> InferResult:
        """The response to one request; when this is canceled, it is at Triton. Raises Refused with Triton's message."""
        outputs = [InferRequestedOutput(name) for name in model.outputs]
        try:
            return await self._client.infer(model.served, inputs, model.model_version, outputs)
        except InferenceServerException as error:
            await self._wait_if_lost(error)
            status, subject = _STATUS.get(error.status(), 500), str(model)
            if status == 400 and len(model.inputs) == 1:
                (source,) = model.inputs.values()
                subject = f"payload.{source.field} cannot be used by {model}"
            raise Refused(status, f"{subject}: {error.message()}") from None

    async def forward(self, model: Model, body: KServe) -> tuple[bytes, str]:
        """The body and the media type of Triton's answer to a body of KServe v2, which is sent as it is.

        Raises Refused with Triton's own status and message, or 503.
        """
        headers = {"Content-Type": "application/json"}
        if body.header_size is not None:
            headers = {"Content-Type": "application/octet-stream", _HEADER_LENGTH: str(body.header_size)}
        try:
            async with self._session.post(f"{_path(model)}/infer", data=body.body, headers=headers) as response:
                content = await response.read()
        except aiohttp.ClientError as error:
            await asyncio.sleep(_LOST_SECONDS)
            raise Refused(503, f"{model}: Triton cannot be reached: {error}") from None
        if not response.ok:
            raise Refused(response.status, error_in(content))
        if size := response.headers.get(_HEADER_LENGTH):
            return content, f"{BINARY};json-header-size={size}"
        return content, response.headers.get("Content-Type", "application/json")

    async def close(self) -> None:
        await self._client.close()
        await self._session.close()

    async def _wait_if_lost(self, error: InferenceServerException) -> None:
        """Models that are not ready are unavailable as a server that is gone is."""
        if error.status() == _UNAVAILABLE and not await self._succeeds("/v2/health/live"):
            await asyncio.sleep(_LOST_SECONDS)

    async def _succeeds(self, path: str) -> bool:
        try:
            async with self._session.get(path) as response:
                return response.ok
        except aiohttp.ClientError:
            return False


def _path(model: Model) -> str:
    version = f"/versions/{model.model_version}" if model.model_version else ""
    return f"/v2/models/{model.served}{version}"
