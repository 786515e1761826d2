"""The operations on endpoints: Create, Describe, List, Update (also weights and instance counts), Delete."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from triton_ensembles.endpoint.api.configs import Configs
from triton_ensembles.endpoint.api.errors import NotSupportedLocally, ValidationException
from triton_ensembles.endpoint.api.resources import Resources
from triton_ensembles.endpoint.api.tags import Tags
from triton_ensembles.endpoint.api.validation import refuse_unsupported
from triton_ensembles.endpoint.endpoint_state import Endpoint, Share, Status, shutting_down
from triton_ensembles.endpoint.settings import Settings
from triton_ensembles.endpoint.variants.spec import VariantPlan
from triton_ensembles.endpoint.variants.variant import Variant

# A boto3 waiter calls every 30 s, but an endpoint on a laptop is in service within a second or two. So its answer is
# held back until then, for this long at most: boto3 waits 60 s for it.
WAITER_SECONDS = 25


class Endpoints(Resources[Endpoint]):
    """The endpoints of the control plane. ``make`` takes a name and an ARN, ``deleted`` the name of a deleted one."""

    kind, title, arn_type, page_size = "Endpoint", "endpoint", "endpoint", 10

    def __init__(
        self,
        settings: Settings,
        tags: Tags,
        configs: Configs,
        make: Callable[[str, str], Endpoint],
        deleted: Callable[[str], None],
    ) -> None:
        super().__init__(settings, tags)
        self._configs = configs
        self._make = make
        self._deleted = deleted
        self._deletions: set[asyncio.Task[None]] = set()
        self._stopping = False

    def __iter__(self) -> Iterator[Endpoint]:
        return iter(sorted(self._resources.values(), key=lambda endpoint: endpoint.created))

    def find(self, name: str) -> Endpoint | None:
        """For InvokeEndpoint, where the case of the name must match (the API reference of CreateEndpoint)."""
        self._refuse_when_stopping()
        endpoint = self._resources.get(name.lower())
        return endpoint if endpoint is not None and endpoint.name == name else None

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        refuse_unsupported("CreateEndpoint", request, {"EndpointName", "EndpointConfigName", "Tags"})
        self._refuse_when_stopping()
        name = request["EndpointName"]
        self._refuse_existing(name)
        config = self._configs.get(request["EndpointConfigName"]).name
        plans = self._configs.plan(config)
        endpoint = self._make(name, self._arn(name))
        reply = self._add(endpoint, request)
        endpoint.create(config, plans)
        return reply

    async def describe(self, request: Mapping[str, Any], waiter: bool) -> dict[str, Any]:
        """``waiter``: whether a boto3 waiter calls, which gets its answer when the endpoint has settled."""
        endpoint = self.get(request["EndpointName"])
        if waiter:
            await endpoint.wait_until_settled(WAITER_SECONDS)
        shown: dict[str, Any] = {
            **self._summary(endpoint),
            "EndpointConfigName": endpoint.config_name,
            "ProductionVariants": [_variant(variant, endpoint) for variant in endpoint.running],
        }
        return shown | ({"FailureReason": endpoint.failure} if endpoint.failure else {})

    def update(self, request: Mapping[str, Any]) -> dict[str, Any]:
        supported = {"EndpointName", "EndpointConfigName", "DeploymentConfig"}
        supported |= {"RetainAllVariantProperties", "ExcludeRetainedVariantProperties"}
        refuse_unsupported("UpdateEndpoint", request, supported)
        _check_deployment(request.get("DeploymentConfig") or {})
        self._refuse_when_stopping()
        endpoint = self._settled(request["EndpointName"])
        config = self._configs.get(request["EndpointConfigName"]).name
        plans = self._configs.plan(config)
        if request.get("RetainAllVariantProperties"):
            excluded = request.get("ExcludeRetainedVariantProperties") or []
            plans = _retained(endpoint, plans, {kind["VariantPropertyType"] for kind in excluded})
        endpoint.update(config, plans)
        return {"EndpointArn": endpoint.arn}

    def rescale(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """UpdateEndpointWeightsAndCapacities."""
        shares = {}
        for capacity in request["DesiredWeightsAndCapacities"]:
            supported = {"VariantName", "DesiredWeight", "DesiredInstanceCount"}
            refuse_unsupported("UpdateEndpointWeightsAndCapacities", capacity, supported, "DesiredWeightsAndCapacities")
            name = capacity["VariantName"]
            if name in shares:
                raise ValidationException(f'The variant "{name}" is given twice')
            shares[name] = Share(capacity.get("DesiredWeight"), capacity.get("DesiredInstanceCount"))
        self._refuse_when_stopping()
        endpoint = self._settled(request["EndpointName"])
        weights = {variant.plan.name: variant.plan.weight for variant in endpoint.running}
        for name, share in shares.items():
            if name not in weights:
                raise ValidationException(f'The endpoint "{endpoint.arn}" has no variant "{name}"')
            if share.instance_count == 0:
                raise ValidationException(f'The DesiredInstanceCount of the variant "{name}" is 0')
            weights[name] = weights[name] if share.weight is None else share.weight
        if not sum(weights.values()):
            raise ValidationException("The weight of every production variant would be 0")
        endpoint.rescale(shares)
        return {"EndpointArn": endpoint.arn}

    def delete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """As on AWS, only of an endpoint that is not being created, updated or deleted."""
        self._begin_deletion(self._settled(request["EndpointName"]))
        return {}

    def _begin_deletion(self, endpoint: Endpoint) -> None:
        task = asyncio.get_running_loop().create_task(self._delete(endpoint))
        self._deletions.add(task)
        task.add_done_callback(self._deletions.discard)

    async def stop(self) -> None:
        """Delete all endpoints at once and wait until they are gone. From now on none can be created or updated."""
        self._stopping = True
        for endpoint in self:
            endpoint.shutting_down = True
            if endpoint.status is not Status.DELETING:
                self._begin_deletion(endpoint)
        await asyncio.gather(*self._deletions, return_exceptions=True)

    def _settled(self, name: str) -> Endpoint:
        endpoint = self.get(name)
        if endpoint.in_progress:
            raise ValidationException(f'Cannot update in-progress endpoint "{endpoint.arn}".')
        return endpoint

    def _refuse_when_stopping(self) -> None:
        if self._stopping:
            raise shutting_down()

    async def _delete(self, endpoint: Endpoint) -> None:
        try:
            await endpoint.delete()
        finally:
            self._remove(endpoint)
            self._deleted(endpoint.name)

    def _summary(self, endpoint: Endpoint) -> dict[str, Any]:
        changes = {"LastModifiedTime": endpoint.modified, "EndpointStatus": str(endpoint.status)}
        return super()._summary(endpoint) | changes


def _variant(running: Variant, endpoint: Endpoint) -> dict[str, Any]:
    plan = running.plan
    desired = endpoint.desired.get(plan.name, Share())
    deployed = {"SpecifiedImage": plan.spec.image, "ResolvedImage": plan.spec.image, "ResolutionTime": endpoint.created}
    return {
        "VariantName": plan.name,
        "DeployedImages": [deployed],
        "CurrentWeight": plan.weight,
        "DesiredWeight": plan.weight if desired.weight is None else desired.weight,
        "CurrentInstanceCount": plan.instance_count,
        "DesiredInstanceCount": desired.instance_count or plan.instance_count,
    }


def _retained(endpoint: Endpoint, plans: tuple[VariantPlan, ...], excluded: set[str]) -> tuple[VariantPlan, ...]:
    """The plans with the weights and instance counts that the running variants of the same names have."""
    running = {variant.plan.name: variant.plan for variant in endpoint.running}

    def retained(plan: VariantPlan) -> VariantPlan:
        old = running.get(plan.name, plan)
        return replace(
            plan,
            weight=plan.weight if "DesiredWeight" in excluded else old.weight,
            instance_count=plan.instance_count if "DesiredInstanceCount" in excluded else old.instance_count,
        )

    return tuple(map(retained, plans))


def _check_deployment(config: Mapping[str, Any]) -> None:
    """Traffic shifts all at once here; other policies are refused."""
    refuse_unsupported("UpdateEndpoint", config, {"BlueGreenUpdatePolicy"}, "DeploymentConfig")
    routing = (config.get("BlueGreenUpdatePolicy") or {}).get("TrafficRoutingConfiguration") or {}
    if routing and routing.get("Type") != "ALL_AT_ONCE":
        raise NotSupportedLocally(f"TrafficRoutingConfiguration {routing.get('Type')}", "use ALL_AT_ONCE")
