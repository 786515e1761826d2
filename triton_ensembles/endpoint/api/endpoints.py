"""CreateEndpoint, DescribeEndpoint, ListEndpoints, UpdateEndpoint, DeleteEndpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from triton_ensembles.endpoint.api.configs import Configs
from triton_ensembles.endpoint.api.errors import NotSupportedLocally, ServiceUnavailable, ValidationException
from triton_ensembles.endpoint.api.listing import page
from triton_ensembles.endpoint.api.resources import ResourceTable
from triton_ensembles.endpoint.api.tags import Tags
from triton_ensembles.endpoint.api.validation import refuse_unsupported
from triton_ensembles.endpoint.deployment import RunningVariant
from triton_ensembles.endpoint.endpoint_state import Endpoint, InProgressError, Status
from triton_ensembles.endpoint.settings import Settings

# A boto3 waiter asks every 30 s, but an endpoint on a laptop is in service within a second or two. So the answer to a
# waiter is held back until then, for this long at most: boto3 waits 60 s for an answer.
WAITER_SECONDS = 25


class Endpoints:
    """The endpoints of the control plane.

    Args:
        make: makes a new endpoint from its name and ARN.
        deleted: called with the name of each endpoint that has been deleted.
    """

    def __init__(
        self,
        settings: Settings,
        tags: Tags,
        configs: Configs,
        make: Callable[[str, str], Endpoint],
        deleted: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._tags = tags
        self._configs = configs
        self._make = make
        self._deleted = deleted
        self._resources: ResourceTable[Endpoint] = ResourceTable("endpoint")
        self._deletions: set[asyncio.Task[None]] = set()
        self._stopping = False

    def __iter__(self) -> Iterator[Endpoint]:
        return iter(sorted(self._resources, key=lambda endpoint: endpoint.created))

    def find(self, name: str) -> Endpoint | None:
        return self._resources.find(name)

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        refuse_unsupported("CreateEndpoint", request, {"EndpointName", "EndpointConfigName", "Tags"})
        self._refuse_when_stopping()
        name, arn = request["EndpointName"], self._arn(request["EndpointName"])
        self._resources.refuse_existing(name, arn)
        plans = self._configs.plan(request["EndpointConfigName"])
        self._tags.create(arn, request)
        endpoint = self._make(name, arn)
        self._resources.add(name, arn, endpoint)
        endpoint.create(request["EndpointConfigName"], plans)
        return {"EndpointArn": arn}

    async def describe(self, request: Mapping[str, Any], *, waiter: bool = False) -> dict[str, Any]:
        """``waiter``: whether a boto3 waiter asks, which gets its answer when the endpoint has settled."""
        endpoint = self._get(request)
        if waiter:
            await endpoint.wait_until_settled(WAITER_SECONDS)
        shown: dict[str, Any] = {
            **_summary(endpoint),
            "EndpointConfigName": endpoint.config_name,
            "ProductionVariants": [_variant(each, endpoint) for each in _running(endpoint)],
        }
        return shown | ({"FailureReason": endpoint.failure} if endpoint.failure else {})

    def list(self, request: Mapping[str, Any]) -> dict[str, Any]:
        found, token = page(map(_summary, self._resources), request, kind="Endpoint", default_size=10)
        return {"Endpoints": found} | ({"NextToken": token} if token else {})

    def update(self, request: Mapping[str, Any]) -> dict[str, Any]:
        supported = {"EndpointName", "EndpointConfigName", "DeploymentConfig"}
        # Weights and counts only ever come from the configuration here, so there is nothing to retain.
        supported |= {"RetainAllVariantProperties", "ExcludeRetainedVariantProperties"}
        refuse_unsupported("UpdateEndpoint", request, supported)
        _check_deployment(request.get("DeploymentConfig") or {})
        self._refuse_when_stopping()
        endpoint = self._get(request)
        plans = self._configs.plan(request["EndpointConfigName"])
        try:
            endpoint.update(request["EndpointConfigName"], plans)
        except InProgressError as error:
            raise ValidationException(f'Cannot update in-progress endpoint "{endpoint.arn}".') from error
        return {"EndpointArn": endpoint.arn}

    def delete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        endpoint = self._get(request)
        if endpoint.status is Status.DELETING:
            raise ValidationException(f'Cannot delete in-progress endpoint "{endpoint.arn}".')
        task = asyncio.get_running_loop().create_task(self._delete(endpoint))
        self._deletions.add(task)
        task.add_done_callback(self._deletions.discard)
        return {}

    async def stop(self) -> None:
        """Delete all endpoints at once and wait until they are gone. From now on none can be created or updated."""
        self._stopping = True
        for endpoint in self:
            if endpoint.status is not Status.DELETING:
                self.delete({"EndpointName": endpoint.name})
        await asyncio.gather(*self._deletions, return_exceptions=True)

    def _refuse_when_stopping(self) -> None:
        if self._stopping:
            raise ServiceUnavailable("The server is stopping")

    async def _delete(self, endpoint: Endpoint) -> None:
        try:
            await endpoint.delete()
        finally:
            self._resources.remove(endpoint.name, endpoint.arn)
            self._tags.forget(endpoint.arn)
            self._deleted(endpoint.name)

    def _get(self, request: Mapping[str, Any]) -> Endpoint:
        return self._resources.get(request["EndpointName"], self._arn(request["EndpointName"]))

    def _arn(self, name: str) -> str:
        return self._settings.arn("endpoint", name)


def _running(endpoint: Endpoint) -> list[RunningVariant]:
    return list(endpoint.deployment.variants.values()) if endpoint.deployment else []


def _summary(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "EndpointName": endpoint.name,
        "EndpointArn": endpoint.arn,
        "CreationTime": endpoint.created,
        "LastModifiedTime": endpoint.modified,
        "EndpointStatus": str(endpoint.status),
    }


def _variant(running: RunningVariant, endpoint: Endpoint) -> dict[str, Any]:
    plan = running.plan
    deployed = {"SpecifiedImage": plan.spec.image, "ResolvedImage": plan.spec.image, "ResolutionTime": endpoint.created}
    return {
        "VariantName": plan.name,
        "DeployedImages": [deployed],
        "CurrentWeight": plan.weight,
        "DesiredWeight": plan.weight,
        "CurrentInstanceCount": plan.instance_count,
        "DesiredInstanceCount": plan.instance_count,
    }


def _check_deployment(config: Mapping[str, Any]) -> None:
    """Traffic shifts all at once here; other policies are refused."""
    refuse_unsupported("UpdateEndpoint", config, {"BlueGreenUpdatePolicy"}, "DeploymentConfig")
    routing = (config.get("BlueGreenUpdatePolicy") or {}).get("TrafficRoutingConfiguration") or {}
    if routing and routing.get("Type") != "ALL_AT_ONCE":
        raise NotSupportedLocally(f"TrafficRoutingConfiguration {routing.get('Type')}", "use ALL_AT_ONCE")
