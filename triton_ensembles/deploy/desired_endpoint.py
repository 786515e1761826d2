"""The endpoint that ``deploy`` is to create, as the requests of SageMaker's API that describe it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from triton_ensembles.deploy.aws import Aws, if_exists
from triton_ensembles.deploy.resource_names import VARIANT, derived_name


@dataclass(frozen=True)
class Kind:
    """A kind of resource: as users are told, in the keys of SageMaker's API, and in the names of boto3's operations."""

    noun: str
    key: str
    snake: str

    def operation(self, aws: Aws, verb: str) -> Callable[..., Any]:
        """The operation ``verb`` of boto3 on resources of this kind."""
        operation: Callable[..., Any] = getattr(aws.sagemaker, f"{verb}_{self.snake}")
        return operation

    def delete(self, aws: Aws, name: str) -> None:
        """Delete the resource, if it exists."""
        if_exists(self.operation(aws, "delete"), **{f"{self.key}Name": name})


MODEL = Kind("model", "Model", "model")
CONFIG = Kind("endpoint configuration", "EndpointConfig", "endpoint_config")


@dataclass(frozen=True)
class DesiredEndpoint:
    """A multi-model or a single-model endpoint.

    Args:
        name: the endpoint's name.
        role: the ARN of the execution role, which SageMaker assumes to read image and archives.
        image: the URI of the container's image.
        instance: the instance type.
        count: the number of instances to start with.
        url: the prefix of the archives in S3, ending with a slash; or the one archive of a single-model endpoint.
        cache: ModelCacheSetting; without it SageMaker unloads and deletes a model after each request.
        environment: the container's variables (SAGEMAKER_TRITON_…).
    """

    name: str
    role: str
    image: str
    instance: str
    count: int
    url: str
    cache: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> dict[str, Any]:
        """CreateModel's arguments."""
        mode = "MultiModel" if self.url.endswith("/") else "SingleModel"
        container: dict[str, Any] = {"Image": self.image, "Mode": mode, "ModelDataUrl": self.url}
        if mode == "MultiModel":
            container["MultiModelConfig"] = {"ModelCacheSetting": "Enabled" if self.cache else "Disabled"}
        if self.environment:
            container["Environment"] = dict(self.environment)
        return self._named(MODEL, {"ExecutionRoleArn": self.role, "PrimaryContainer": container})

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
        return self._named(CONFIG, {"ProductionVariants": [variant]})

    @property
    def model_name(self) -> str:
        return str(self.model["ModelName"])

    @property
    def config_name(self) -> str:
        return str(self.config["EndpointConfigName"])

    def _named(self, kind: Kind, request: dict[str, Any]) -> dict[str, Any]:
        return {f"{kind.key}Name": derived_name(self.name, request), **request}
