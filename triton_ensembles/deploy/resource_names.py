"""How the parts of a deployment are called and marked, so that no file has to remember them.

Everything is found again by the endpoint's name, and touched only when it has our tag.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from triton_ensembles.errors import EnsembleError

MADE_BY, OURS = "made-by", "triton-ensembles"
WEIGHTS = "triton-ensembles:weights"
AUTOSCALED = "triton-ensembles:autoscaled"
VARIANT = "AllTraffic"  # the name that AWS's examples give to the only variant

_DIGITS = 8
_LONGEST = 63 - 1 - _DIGITS  # CreateModel and CreateEndpointConfig allow 63 characters


def check_endpoint_name(name: str) -> str:
    """The name itself. Raises :class:`EnsembleError` for one that AWS would refuse, or that leaves us no room."""
    if not re.fullmatch(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*", name) or len(name) > _LONGEST:
        raise EnsembleError(
            f"'{name}' cannot be the name of an endpoint",
            cure=f"use letters, digits and hyphens between them, at most {_LONGEST}",
        )
    return name


def derived_name(endpoint: str, request: Mapping[str, Any]) -> str:
    """``endpoint-1a2b3c4d``: the same request has the same name, so what is there already is not made twice."""
    text = json.dumps(request, sort_keys=True)
    return f"{endpoint}-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"


def is_derived(endpoint: str, name: str) -> bool:
    return re.fullmatch(f"{re.escape(endpoint)}-[0-9a-f]{{{_DIGITS}}}", name) is not None


def written_tags(more: Mapping[str, str] = {}) -> list[dict[str, str]]:
    """AWS's form of a list of tags, ours among them."""
    return [{"Key": key, "Value": value} for key, value in {MADE_BY: OURS, **more}.items()]


def read_tags(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tags}
