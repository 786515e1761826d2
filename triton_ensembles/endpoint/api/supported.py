"""Members of requests that would have no effect here are refused by name, not silently ignored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from triton_ensembles.endpoint.api.errors import NotSupportedLocally


def refuse_unsupported(operation: str, given: Mapping[str, Any], supported: Collection[str], where: str = "") -> None:
    """Raise for the first member that is given (and not empty, and not False) and is none of ``supported``."""
    for name, value in given.items():
        if value and name not in supported:
            raise NotSupportedLocally(f"{name} in {where or operation}")
