"""The names and tags of a deployment's resources.

A resource is found again by the endpoint's name, and changed or deleted only when it has this tool's tag.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from triton_ensembles.ground.errors import EnsembleError

MADE_BY, OURS = "made-by", "triton-ensembles"
AUTOSCALED = "triton-ensembles:autoscaled"
VARIANT = "AllTraffic"  # the name that AWS's examples give to the only variant

_DIGITS = 8
_LONGEST = 63 - 1 - _DIGITS  # CreateModel and CreateEndpointConfig allow 63 characters


def check_endpoint_name(name: str) -> str:
    """The name itself. Raises :class:`EnsembleError` if AWS would refuse it, or names derived from it."""
    if not re.fullmatch(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*", name) or len(name) > _LONGEST:
        cure = f"use letters and digits with hyphens between them, at most {_LONGEST} characters"
        raise EnsembleError(f"'{name}' is not a valid endpoint name", cure=cure)
    return name


def derived_name(endpoint: str, request: Mapping[str, Any]) -> str:
    """``endpoint-1a2b3c4d``: the same ``request`` (CreateModel's arguments without the name) has the same name, so a
    resource that exists is not created twice."""
    text = json.dumps(request, sort_keys=True)
    return f"{endpoint}-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"


def is_derived(endpoint: str, name: str) -> bool:
    """Return whether :func:`derived_name` may have made ``name`` for this endpoint."""
    return re.fullmatch(f"{re.escape(endpoint)}-[0-9a-f]{{{_DIGITS}}}", name) is not None


def write_tags(more: Mapping[str, str] = {}) -> list[dict[str, str]]:
    """This tool's tag and ``more`` in AWS's form: a list of ``{"Key": ..., "Value": ...}``."""
    return [{"Key": key, "Value": value} for key, value in {MADE_BY: OURS, **more}.items()]


def read_tags(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Tags in AWS's form as a dict."""
    return {tag["Key"]: tag["Value"] for tag in tags}
