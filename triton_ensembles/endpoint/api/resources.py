"""The common part of the control plane's resources: models, endpoint configurations, endpoints."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from triton_ensembles.endpoint.api.errors import ValidationException
from triton_ensembles.endpoint.api.listing import page
from triton_ensembles.endpoint.api.tags import Tags
from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.settings import Settings


@dataclass(frozen=True)
class Resource:
    """The request of a Create operation, with the resource's ARN and time of creation (seconds since 1970)."""

    name: str
    arn: str
    request: Mapping[str, Any]
    created: float = field(default_factory=time.time)


T = TypeVar("T", bound=Resource | Endpoint)


class Resources(Generic[T]):
    """All resources of one kind by name, with AWS's error messages.

    Names that differ only in case are one: their ARNs, which have lower case, would be the same.
    """

    kind: ClassVar[str]  # what the names of members begin with: "EndpointConfig"
    title: ClassVar[str]  # AWS's name for it in errors: "endpoint configuration"
    arn_type: ClassVar[str]  # its name in ARNs: "endpoint-config"
    page_size: ClassVar[int] = 100  # MaxResults of List where the request has none

    def __init__(self, settings: Settings, tags: Tags) -> None:
        self._settings = settings
        self._tags = tags
        self._resources: dict[str, T] = {}

    def list(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return page(map(self._summary, self._resources.values()), request, self.kind, self.page_size)

    def delete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._remove(self.get(request[f"{self.kind}Name"]))
        return {}

    def get(self, name: str) -> T:
        """Raises ValidationException when it does not exist."""
        if name.lower() not in self._resources:
            raise ValidationException(f'Could not find {self.title} "{self._arn(name)}".')
        return self._resources[name.lower()]

    def _add(self, resource: T, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply of a Create operation, once the resource and the tags of the request are added."""
        self._refuse_existing(resource.name)
        self._tags.create(resource.arn, request)
        self._resources[resource.name.lower()] = resource
        return {f"{self.kind}Arn": resource.arn}

    def _refuse_existing(self, name: str) -> None:
        if name.lower() in self._resources:
            raise ValidationException(f'Cannot create already existing {self.title} "{self._arn(name)}".')

    def _remove(self, resource: T) -> None:
        del self._resources[resource.name.lower()]
        self._tags.forget(resource.arn)

    def _summary(self, resource: T) -> dict[str, Any]:
        named = {f"{self.kind}Name": resource.name, f"{self.kind}Arn": resource.arn}
        return named | {"CreationTime": resource.created}

    def _arn(self, name: str) -> str:
        return self._settings.arn(self.arn_type, name)
