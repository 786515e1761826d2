"""InvokeEndpoint in the shapes of botocore's sagemaker-runtime model: POST /endpoints/{EndpointName}/invocations"""

import json
import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from triton_ensembles.endpoint.api.validation import operation_model, string_faults, summary
from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.metrics.record import Call, Metrics
from triton_ensembles.endpoint.settings import ACCOUNT, Settings
from triton_ensembles.endpoint.variants.variant import Variant
from triton_ensembles.hosting.errors import HostingError, ModelError, ValidationError, with_paths_of_aws
from triton_ensembles.hosting.replies import send
from triton_ensembles.hosting.request import Invocation
from triton_ensembles.hosting.request_body import Body, BodyTooLarge
from triton_ensembles.sagemaker.contract import LARGEST_BODY

_PATH = re.compile(r"/endpoints/(?P<name>[^/?]*)/invocations/?")
_WHOLE_BYTES = 256 * 1024  # smaller bodies are read whole, which is faster, and can be sent a second time
_PASSED = {"ContentType", "Accept", "CustomAttributes", "InferenceId"}  # to the container, as they are
_SUPPORTED = {"EndpointName", "Body", "TargetModel", "TargetVariant", *_PASSED}


def _header_members() -> tuple[dict[str, str], dict[str, Mapping[str, Any]]]:
    """Member names by header, and the constraints of each member."""
    model = operation_model("sagemaker-runtime", "InvokeEndpoint")
    assert model is not None
    members = model.input_shape.members
    headers = {
        shape.serialization["name"].lower(): name
        for name, shape in members.items()
        if shape.serialization.get("location") == "header"
    }
    return headers, {name: shape.metadata for name, shape in members.items()}


_HEADERS, _CONSTRAINTS = _header_members()


@dataclass(frozen=True)
class Runtime:
    """Answers InvokeEndpoint. Triton's port for SageMaker gives each answer at once, so nothing is streamed."""

    settings: Settings
    find: Callable[[str], Endpoint | None]
    metrics: Metrics

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call with the model's reply, or an error in AWS's shape. A connection that is reset cancels it."""
        call = Call(time.perf_counter())
        try:
            response = await self._answer(request, call)
        except BodyTooLarge:
            # AWS's answer has no error code either: boto3 reports it as "413" (sagemaker-python-sdk issue 171).
            response = _json(413, {"Message": f"HTTP content length exceeded {LARGEST_BODY} bytes."})
        except HostingError as error:
            call.model_status = error.original_status if isinstance(error, ModelError) else 0
            call.failed = error.status >= 500
            response = _error_response(error, self.settings.log(call.endpoint), multi_model=bool(call.target_model))
        if call.endpoint:
            self.metrics.invocation(call, time.perf_counter() - call.started)
        return response

    async def _answer(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        name, parameters = _read(request)
        endpoint = self.find(name)
        if endpoint is None:
            raise ValidationError(f"Endpoint {name} of account {ACCOUNT} not found.")
        call.target_model = parameters.get("TargetModel", "")
        variant = _choose(endpoint, parameters, call)
        body = Body(request, LARGEST_BODY)
        whole = body.length is None or body.length <= _WHOLE_BYTES
        invocation = Invocation(
            body=await body.whole() if whole else body.pieces(),
            target_model=parameters.get("TargetModel"),
            headers={name: value for name, value in request.headers.items() if _HEADERS.get(name.lower()) in _PASSED},
            content_length=None if whole else body.length,
        )
        if variant.stopping:  # an update has replaced it while the body arrived
            variant = _choose(endpoint, parameters, call)
        reply = await variant.invoke(invocation)
        call.model_status, call.model_seconds = reply.status, reply.model_seconds
        added = {"x-Amzn-Invoked-Production-Variant": call.variant, "x-amzn-RequestId": str(uuid.uuid4())}
        return await send(request, reply, {**reply.headers, **added})


def _choose(endpoint: Endpoint, parameters: Mapping[str, str], call: Call) -> Variant:
    variant = endpoint.choose(parameters.get("TargetVariant"))
    call.endpoint, call.variant, call.instances = endpoint.name, variant.plan.name, variant.plan.instance_count
    return variant


def _read(request: web.BaseRequest) -> tuple[str, dict[str, str]]:
    """Return EndpointName and the other members, validated. Raises ValidationError."""
    match = _PATH.fullmatch(request.rel_url.raw_path)
    if match is None or request.method != "POST":
        raise ValidationError(
            f"{request.method} {request.rel_url.raw_path} is not supported locally", cure="use InvokeEndpoint"
        )
    name = unquote(match["name"])
    members = {"EndpointName": name}
    for header, value in request.headers.items():
        if member := _HEADERS.get(header.lower()):
            members[member] = value
    faults = [fault for member, value in members.items() for fault in _faults(member, value)]
    if faults:
        raise ValidationError(summary(faults))
    for member in members:
        if member not in _SUPPORTED:
            raise ValidationError(f"{member} is not supported locally")
    return name, members


@lru_cache(4096)  # most requests of a client differ only in the body
def _faults(member: str, value: str) -> tuple[str, ...]:
    return tuple(string_faults(_CONSTRAINTS[member], value, f"{member[0].lower()}{member[1:]}"))


def _error_response(error: HostingError, log: Path, *, multi_model: bool) -> web.Response:
    """A HostingError in the shape of InvokeEndpoint's errors."""
    body: dict[str, Any] = {"Message": with_paths_of_aws(str(error), multi_model=multi_model)}
    if isinstance(error, ModelError):
        message = with_paths_of_aws(error.original_message, multi_model=multi_model)
        body |= {"OriginalStatusCode": error.original_status, "OriginalMessage": message}
        body |= {"LogStreamArn": log.absolute().as_uri()}
    return _json(error.status, body, error.code)


def _json(status: int, body: Mapping[str, Any], code: str = "") -> web.Response:
    headers = {"x-amzn-RequestId": str(uuid.uuid4())} | ({"x-amzn-ErrorType": code} if code else {})
    return web.Response(status=status, body=json.dumps(body).encode(), content_type="application/json", headers=headers)
