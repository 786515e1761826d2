"""The common part of the control plane's resources: models, endpoint configurations, endpoints."""

import base64
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from triton_ensembles.endpoint.api.errors import ValidationException
from triton_ensembles.endpoint.api.tags import Tags
from triton_ensembles.endpoint.api.validation import refuse_unsupported
from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.settings import Settings

_LISTED = {"NameContains", "StatusEquals", "SortBy", "SortOrder", "NextToken", "MaxResults"}


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
        return _page(map(self._summary, self._resources.values()), request, self.kind, self.page_size)

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


def _page(
    items: Iterable[Mapping[str, Any]], request: Mapping[str, Any], kind: str, default_size: int
) -> dict[str, Any]:
    """The reply with one page of summaries (their members begin with ``kind``), and the token of the next page."""
    name = f"{kind}Name"
    refuse_unsupported(f"List{kind}s", request, _LISTED)
    part, status = request.get("NameContains", "").lower(), request.get("StatusEquals")
    kept = [item for item in items if part in item[name].lower() and status in (None, item.get(f"{kind}Status"))]
    by = request.get("SortBy", "CreationTime")
    member = {"Name": name, "Status": f"{kind}Status"}.get(by, by)
    backwards = request.get("SortOrder", "Descending") == "Descending"
    kept.sort(key=lambda item: (item[member], item[name]), reverse=backwards)
    if token := request.get("NextToken"):
        try:
            last = json.loads(base64.urlsafe_b64decode(token))
            keys = [[item[member], item[name]] for item in kept]
            kept = [item for item, key in zip(kept, keys, strict=True) if (key < last if backwards else key > last)]
        except (ValueError, TypeError) as error:
            message = "The NextToken is not one that a List operation returned with the same SortBy"
            raise ValidationException(message) from error
    size = int(request.get("MaxResults", default_size))
    if len(kept) <= size:
        return {f"{kind}s": kept}
    last = json.dumps([kept[size - 1][member], kept[size - 1][name]])
    return {f"{kind}s": kept[:size], "NextToken": base64.urlsafe_b64encode(last.encode()).decode()}
