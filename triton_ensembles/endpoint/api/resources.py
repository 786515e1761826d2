"""Named things of the control plane (models, endpoint configurations): kept, found, listed, with AWS's error texts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from triton_ensembles.endpoint.api.errors import ValidationException


@dataclass(frozen=True)
class Resource:
    """What a Create operation was given, with its ARN and time (seconds since 1970)."""

    name: str
    arn: str
    request: Mapping[str, Any]
    created: float = field(default_factory=time.time)


T = TypeVar("T")


class Shelf(Generic[T]):
    """All resources of one kind by name. ``words`` is what AWS calls the kind in errors: "endpoint configuration"."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._held: dict[str, T] = {}

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._held.values()))

    def add(self, name: str, arn: str, value: T) -> None:
        self.refuse_existing(name, arn)
        self._held[name] = value

    def refuse_existing(self, name: str, arn: str) -> None:
        if name in self._held:
            raise ValidationException(f'Cannot create already existing {self._words} "{arn}".')

    def get(self, name: str, arn: str) -> T:
        if name not in self._held:
            raise ValidationException(f'Could not find {self._words} "{arn}".')
        return self._held[name]

    def find(self, name: str) -> T | None:
        return self._held.get(name)

    def remove(self, name: str, arn: str) -> T:
        found = self.get(name, arn)
        del self._held[name]
        return found
