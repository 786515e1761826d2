"""CreateModel, DescribeModel, ListModels, DeleteModel."""

from collections.abc import Mapping
from typing import Any

from triton_ensembles.endpoint.api.errors import NotSupportedLocally, ValidationException
from triton_ensembles.endpoint.api.resources import Resource, Resources
from triton_ensembles.endpoint.api.validation import refuse_unsupported
from triton_ensembles.endpoint.variants.spec import ContainerSpec
from triton_ensembles.triton.sagemaker_variables import INFERENCE_TYPE, INFERENCE_TYPES, is_known

# Roles, networks and logs have no effect on a laptop; they are kept and returned by Describe.
_MODEL = {"ModelName", "PrimaryContainer", "Containers", "Tags", "ExecutionRoleArn", "VpcConfig"}
_MODEL |= {"EnableNetworkIsolation"}
_CONTAINER = {"Image", "ModelDataUrl", "Mode", "MultiModelConfig", "Environment", "ContainerHostname"}
_CONTAINER |= {"ContainerMetricsConfig"}


class Models(Resources[Resource]):
    """The models of the control plane."""

    kind, title, arn_type = "Model", "model", "model"

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        refuse_unsupported("CreateModel", request, _MODEL)
        container_spec(request)
        name = request["ModelName"]
        return self._add(Resource(name, self._arn(name), request), request)

    def describe(self, request: Mapping[str, Any]) -> dict[str, Any]:
        model = self.get(request["ModelName"])
        shown = {key: value for key, value in model.request.items() if key != "Tags"}
        isolated = bool(model.request.get("EnableNetworkIsolation"))
        return shown | {"ModelArn": model.arn, "CreationTime": model.created, "EnableNetworkIsolation": isolated}


def container_spec(request: Mapping[str, Any]) -> ContainerSpec:
    """The one container of a CreateModel request. Raises ValidationException or NotSupportedLocally."""
    containers = [request["PrimaryContainer"]] if request.get("PrimaryContainer") else request.get("Containers") or []
    if request.get("PrimaryContainer") and request.get("Containers"):
        raise ValidationException("Both PrimaryContainer and Containers are given; give only one of them")
    if not containers:
        raise ValidationException("Neither PrimaryContainer nor Containers is given")
    if len(containers) > 1:
        raise NotSupportedLocally("a model with several containers", "give one in PrimaryContainer")
    container = containers[0]
    refuse_unsupported("CreateModel", container, _CONTAINER, "the container")
    image, url = container.get("Image"), container.get("ModelDataUrl")
    if not image or not url:
        raise ValidationException(f"The container has no {'ModelDataUrl' if image else 'Image'}")
    if "triton" not in image.rsplit("/", 1)[-1]:
        cure = "the local container is Triton: use an image of sagemaker-tritonserver, or of the gateway"
        raise NotSupportedLocally(f"the image {image}", cure)
    if not url.startswith("s3://"):
        raise NotSupportedLocally(f"the ModelDataUrl {url}", "give it as s3://BUCKET/KEY")
    mode = container.get("Mode", "SingleModel")
    multi = container.get("MultiModelConfig") or {}
    if multi and mode != "MultiModel":
        raise ValidationException('MultiModelConfig is for containers with Mode "MultiModel"')
    environment = container.get("Environment") or {}
    spec = ContainerSpec(image, url, mode, environment, multi.get("ModelCacheSetting", "Enabled"))
    if environment.get(INFERENCE_TYPE) in INFERENCE_TYPES[1:] and is_known(INFERENCE_TYPE, spec.release):
        cure = "the local endpoint has infer alone"
        raise NotSupportedLocally(f"{INFERENCE_TYPE}={environment[INFERENCE_TYPE]}", cure)
    if spec.is_gateway and mode == "MultiModel":
        cure = "its one archive holds all models: leave out Mode"
        raise NotSupportedLocally("the gateway's image with Mode MultiModel", cure)
    return spec
