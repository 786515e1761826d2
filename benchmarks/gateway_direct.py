"""The gateway's requests as Triton itself takes them: KServe v2 over HTTP, with binary tensors."""

import asyncio
import json
from collections.abc import Mapping

from tritonclient.grpc import service_pb2 as kserve

from benchmarks.gateway_requests import payloads_of
from benchmarks.http_load import HttpTarget, post
from triton_ensembles.gateway.asked import Fields
from triton_ensembles.gateway.table import Model
from triton_ensembles.gateway.tensors import encode
from triton_ensembles.gateway.triton import Triton
from triton_ensembles.triton.gateway_server import GatewayServer
from triton_ensembles.triton.ports import LOOPBACK


def direct_target(server: GatewayServer, model: Model) -> HttpTarget:
    """What :func:`benchmarks.gateway_requests.target_of` sends to the gateway, for the tritonserver behind it."""
    requests = []
    for payload in payloads_of(model.name):
        head, body = over_http(infer_request(server, model, payload))
        requests.append(post(LOOPBACK, server.ports.http, infer_path(model), binary_headers(head), body))
    return HttpTarget(LOOPBACK, server.ports.http, requests)


def infer_request(server: GatewayServer, model: Model, fields: Mapping[str, str | bytes]) -> kserve.ModelInferRequest:
    """The request that the gateway makes of a payload."""

    async def encoded() -> kserve.ModelInferRequest:
        triton = Triton(f"{LOOPBACK}:{server.ports.grpc}", server.http_url)
        try:
            return encode(model, await triton.signature(model), Fields(fields))
        finally:
            await triton.close()

    return asyncio.run(encoded())


def infer_path(model: Model) -> str:
    version = f"/versions/{model.model_version}" if model.model_version else ""
    return f"/v2/models/{model.served}{version}/infer"


def binary_headers(head: bytes) -> dict[str, str]:
    return {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(len(head))}


def over_http(request: kserve.ModelInferRequest) -> tuple[bytes, bytes]:
    """The JSON part of the same request with binary tensors, and the whole body."""
    inputs = [
        {
            "name": each.name,
            "datatype": each.datatype,
            "shape": list(each.shape),
            "parameters": {"binary_data_size": len(content)},
        }
        for each, content in zip(request.inputs, request.raw_input_contents, strict=True)
    ]
    outputs = [{"name": each.name, "parameters": {"binary_data": True}} for each in request.outputs]
    head = json.dumps({"inputs": inputs, "outputs": outputs}).encode()
    return head, head + b"".join(request.raw_input_contents)
