"""The endpoint that ``deploy`` is to create, as the requests of SageMaker's API that describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from triton_ensembles.deploy.resource_names import VARIANT, derived_name


@dataclass(frozen=True)
class DesiredEndpoint:
    """A multi-model endpoint.

    Args:
        name: the endpoint's name.
        role: the ARN of the execution role, which SageMaker assumes to read image and archives.
        image: the URI of the container's image.
        instance: the instance type.
        count: the number of instances to start with.
        url: the prefix in S3, ending with a slash.
        weights: "random" when any archive has random weights, "pretrained" when none has, "" when unknown; kept as a
            tag, so that ``status`` can show it.
        cache: ModelCacheSetting; without it SageMaker unloads and deletes a model after each request.
        environment: the container's variables (SAGEMAKER_TRITON_…).
    """

    name: str
    role: str
    image: str
    instance: str
    count: int
    url: str
    weights: str = ""
    cache: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> dict[str, Any]:
        """CreateModel's arguments."""
        container: dict[str, Any] = {
            "Image": self.image,
            "Mode": "MultiModel",
            "ModelDataUrl": self.url,
            "MultiModelConfig": {"ModelCacheSetting": "Enabled" if self.cache else "Disabled"},
        }
        if self.environment:
            container["Environment"] = dict(self.environment)
        return self._named("ModelName", {"ExecutionRoleArn": self.role, "PrimaryContainer": container})

    @property
    def config(self) -> dict[str, Any]:
        """CreateEndpointConfig's arguments."""
        variant = {
            "VariantName": VARIANT,
            "ModelName": self.model_name,
            "InstanceType": self.instance,
            "InitialInstanceCount": self.count,
            "InitialVariantWeight": 1.0,
        }
        return self._named("EndpointConfigName", {"ProductionVariants": [variant]})

    @property
    def model_name(self) -> str:
        return str(self.model["ModelName"])

    @property
    def config_name(self) -> str:
        return str(self.config["EndpointConfigName"])

    def _named(self, key: str, request: dict[str, Any]) -> dict[str, Any]:
        return {key: derived_name(self.name, request), **request}
