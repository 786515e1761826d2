"""The operations of the control plane: JSON 1.1 over POST /, the operation in X-Amz-Target, a function for each."""

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from triton_ensembles.endpoint.api import errors
from triton_ensembles.endpoint.api.configs import Configs
from triton_ensembles.endpoint.api.endpoints import Endpoints
from triton_ensembles.endpoint.api.json_body import parsed
from triton_ensembles.endpoint.api.models import Models
from triton_ensembles.endpoint.api.signature import from_waiter
from triton_ensembles.endpoint.api.tags import Tags
from triton_ensembles.endpoint.api.validation import INSTEAD, operation_model, validate

CONTENT_TYPE = "application/x-amz-json-1.1"


class ControlPlane:
    """SageMaker's operations by name."""

    def __init__(self, models: Models, configs: Configs, endpoints: Endpoints, tags: Tags) -> None:
        self._endpoints = endpoints
        self._operations: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
            "CreateModel": models.create,
            "DescribeModel": models.describe,
            "ListModels": models.list,
            "DeleteModel": models.delete,
            "CreateEndpointConfig": configs.create,
            "DescribeEndpointConfig": configs.describe,
            "ListEndpointConfigs": configs.list,
            "DeleteEndpointConfig": configs.delete,
            "CreateEndpoint": endpoints.create,
            "ListEndpoints": endpoints.list,
            "UpdateEndpoint": endpoints.update,
            "UpdateEndpointWeightsAndCapacities": endpoints.rescale,
            "DeleteEndpoint": endpoints.delete,
            "AddTags": tags.add,
            "ListTags": tags.list,
            "DeleteTags": tags.delete,
        }
        operation_model("sagemaker", "CreateModel")  # read now, so that the first request does not wait for it

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """The reply of an operation. Raises ApiError, or hosting's ServiceUnavailable."""
        operation = request.headers.get("X-Amz-Target", "").removeprefix("SageMaker.")
        model = operation_model("sagemaker", operation)
        if model is None:
            raise errors.UnknownOperationException(f"SageMaker does not have the operation {operation!r}")
        run = self._operations.get(operation)
        if run is None and operation != "DescribeEndpoint":
            instead = next((cure for part, cure in INSTEAD.items() if part in operation), None)
            supported = instead or f"supported are DescribeEndpoint, {', '.join(self._operations)}"
            raise errors.NotSupportedLocally(operation, supported)
        parameters = await parsed(request)
        validate(model.input_shape, parameters)
        if run is None:
            return reply(200, await self._endpoints.describe(parameters, from_waiter(request.headers)))
        return reply(200, run(parameters))


def reply(status: int, body: Mapping[str, Any]) -> web.Response:
    """A JSON 1.1 reply with AWS's headers."""
    headers = {"x-amzn-RequestId": str(uuid.uuid4())}
    return web.Response(status=status, body=json.dumps(body).encode(), content_type=CONTENT_TYPE, headers=headers)
