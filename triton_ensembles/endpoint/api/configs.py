"""CreateEndpointConfig, DescribeEndpointConfig, ListEndpointConfigs, DeleteEndpointConfig."""

from collections.abc import Mapping
from typing import Any

from triton_ensembles.endpoint.api.errors import NotSupportedLocally, ValidationException
from triton_ensembles.endpoint.api.models import Models, container_spec
from triton_ensembles.endpoint.api.resources import Resource, Resources
from triton_ensembles.endpoint.api.tags import Tags
from triton_ensembles.endpoint.api.validation import INSTEAD, refuse_unsupported
from triton_ensembles.endpoint.settings import Settings
from triton_ensembles.endpoint.variants.spec import VariantPlan
from triton_ensembles.hosting.budgets import Budgets

# Keys, roles, machine images and finer metrics have no effect on a laptop; they are kept and returned by Describe.
_CONFIG = {"EndpointConfigName", "ProductionVariants", "Tags", "KmsKeyId", "ExecutionRoleArn", "VpcConfig"}
_CONFIG |= {"EnableNetworkIsolation", "MetricsConfig"}
_VARIANT = {"VariantName", "ModelName", "InitialInstanceCount", "InstanceType", "InitialVariantWeight"}
_VARIANT |= {"VolumeSizeInGB", "ModelDataDownloadTimeoutInSeconds", "ContainerStartupHealthCheckTimeoutInSeconds"}
_VARIANT |= {"InferenceAmiVersion", "RoutingConfig"}


class Configs(Resources[Resource]):
    """The endpoint configurations of the control plane."""

    kind, title, arn_type = "EndpointConfig", "endpoint configuration", "endpoint-config"

    def __init__(self, settings: Settings, tags: Tags, models: Models) -> None:
        super().__init__(settings, tags)
        self._models = models

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        refuse_unsupported("CreateEndpointConfig", request, _CONFIG)
        variants = [_with_defaults(variant) for variant in request["ProductionVariants"]]
        names = [variant["VariantName"] for variant in variants]
        if len(set(names)) < len(names):
            raise ValidationException("Two production variants have the same VariantName")
        if not sum(variant["InitialVariantWeight"] for variant in variants):
            raise ValidationException("The InitialVariantWeight of every production variant is 0")
        for variant in variants:
            self._models.get(variant["ModelName"])
        name = request["EndpointConfigName"]
        return self._add(Resource(name, self._arn(name), {**request, "ProductionVariants": variants}), request)

    def describe(self, request: Mapping[str, Any]) -> dict[str, Any]:
        config = self.get(request["EndpointConfigName"])
        shown = {key: value for key, value in config.request.items() if key != "Tags"}
        return shown | {"EndpointConfigArn": config.arn, "CreationTime": config.created}

    def plan(self, name: str) -> tuple[VariantPlan, ...]:
        """The variants of a configuration, with their models as they are at present."""
        request = self.get(name).request
        return tuple(map(self._plan, request["ProductionVariants"]))

    def _plan(self, variant: Mapping[str, Any]) -> VariantPlan:
        disk = self._settings.disk_budget
        gigabytes = variant.get("VolumeSizeInGB")
        budgets = Budgets(
            memory_bytes=self._settings.memory_budget,
            disk_bytes=min(disk, gigabytes << 30) if gigabytes else disk,
            load_seconds=variant.get("ModelDataDownloadTimeoutInSeconds") or Budgets.load_seconds,
            evict_ahead=self._settings.evict_ahead,
            startup_seconds=variant.get("ContainerStartupHealthCheckTimeoutInSeconds") or Budgets.startup_seconds,
        )
        model = self._models.get(variant["ModelName"]).request
        spec = container_spec(model)
        count, weight = variant["InitialInstanceCount"], variant["InitialVariantWeight"]
        return VariantPlan(variant["VariantName"], spec, budgets, count, variant["InstanceType"], weight)


def _with_defaults(variant: Mapping[str, Any]) -> dict[str, Any]:
    refuse_unsupported("CreateEndpointConfig", variant, _VARIANT, "a production variant")
    if not variant.get("ModelName"):
        raise NotSupportedLocally("a production variant for inference components", INSTEAD["InferenceComponent"])
    for needed in ("InstanceType", "InitialInstanceCount"):
        if not variant.get(needed):
            raise ValidationException(f"The production variant {variant['VariantName']} has no {needed}")
    strategy = (variant.get("RoutingConfig") or {}).get("RoutingStrategy", "LEAST_OUTSTANDING_REQUESTS")
    if strategy != "LEAST_OUTSTANDING_REQUESTS":
        raise NotSupportedLocally(f"RoutingStrategy {strategy}", "requests go to the least busy instance")
    return {"InitialVariantWeight": 1.0, **variant}
