"""Tables of the control plane's resources (models, endpoint configurations, endpoints), with AWS's error messages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from triton_ensembles.endpoint.api.errors import ValidationException


@dataclass(frozen=True)
class Resource:
    """The request of a Create operation, with the resource's ARN and time of creation (seconds since 1970)."""

    name: str
    arn: str
    request: Mapping[str, Any]
    created: float = field(default_factory=time.time)


T = TypeVar("T")


class ResourceTable(Generic[T]):
    """All resources of one kind by name. ``kind`` is AWS's name for it in errors: "endpoint configuration"."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._resources: dict[str, T] = {}

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._resources.values()))

    def add(self, name: str, arn: str, value: T) -> None:
        self.refuse_existing(name, arn)
        self._resources[name] = value

    def refuse_existing(self, name: str, arn: str) -> None:
        if name in self._resources:
            raise ValidationException(f'Cannot create already existing {self._kind} "{arn}".')

    def get(self, name: str, arn: str) -> T:
        if name not in self._resources:
            raise ValidationException(f'Could not find {self._kind} "{arn}".')
        return self._resources[name]

    def find(self, name: str) -> T | None:
        return self._resources.get(name)

    def remove(self, name: str, arn: str) -> T:
        found = self.get(name, arn)
        del self._resources[name]
        return found
