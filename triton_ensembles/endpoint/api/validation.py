"""Checks requests against botocore's service model, in AWS's own words.

botocore checks types and required members before it sends a request, and leaves lengths, patterns and enums to this:

    1 validation error detected: Value 'a b' at 'endpointName' failed to satisfy constraint: Member must satisfy
    regular expression pattern: [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import regex  # the patterns are Java's: re lacks \p{L} and \z
from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel, Shape

from triton_ensembles.endpoint.api.errors import NotSupportedLocally, SerializationException, ValidationException

INSTEAD = {
    "InstancePools": "give one InstanceType and InitialInstanceCount",
    "AcceleratorPartitionLayouts": "leave it out: a container here has the whole machine",
    "InferenceComponent": "name the model in the production variant (ModelName), or use a multi-model endpoint",
    "InferenceRouter": "call the endpoint itself, whose variants share its requests by weight",
}
"""Substitutes for parts of the API that are not here, by their names or a part of an operation's."""
_YEAR_10000 = 253402300800  # seconds since 1970
_PRINT = regex.compile(r"\[[^\]]*\\p\{Print\}[^\]]*\]")  # inside brackets
_PYTHON: Mapping[str, Any] = {
    "string": str,
    "boolean": bool,
    "list": list,
    "timestamp": (int, float, datetime),  # seconds since 1970, or what a form had
    **dict.fromkeys(("integer", "long"), int),
    **dict.fromkeys(("float", "double"), (int, float)),
    **dict.fromkeys(("map", "structure"), dict),
}


@cache
def _service_model(name: str) -> ServiceModel:
    """The newest service-2.json of ``name`` ("sagemaker", "sagemaker-runtime") in the installed botocore."""
    return ServiceModel(Loader().load_service_model(name, "service-2"), name)


def operation_model(service: str, operation: str) -> OperationModel | None:
    """botocore's model of an operation; None when the service does not have it."""
    model = _service_model(service)
    return model.operation_model(operation) if operation in model.operation_names else None


def refuse_unsupported(operation: str, members: Mapping[str, Any], supported: Collection[str], where: str = "") -> None:
    """Raise NotSupportedLocally for the first member that has a value (not empty, not False) but is not supported.

    Silently ignored, it would seem to have an effect.
    """
    for name, value in members.items():
        if value and name not in supported:
            raise NotSupportedLocally(f"{name} in {where or operation}", INSTEAD.get(name, ""))


def validate(shape: Shape, value: Any) -> None:
    """Raise ValidationException with all faults, or SerializationException for a value of the wrong type."""
    if faults := list(_faults(shape, value, "")):
        raise ValidationException(summary(faults))


def summary(faults: list[str]) -> str:
    """AWS's sentence around the faults."""
    return f"{len(faults)} validation error{'s' if len(faults) > 1 else ''} detected: {'; '.join(faults)}"


def string_faults(metadata: Mapping[str, Any], value: str, path: str) -> Iterator[str]:
    """Faults of a string at ``path`` by the ``metadata`` (min, max, pattern, enum) of its shape."""
    yield from _bound_faults(metadata, len(value), value, path, "length")
    # Some patterns would take forever on a value that is too long, so they are not tried on it.
    pattern = metadata.get("pattern")
    if pattern and len(value) <= metadata.get("max", 65536) and not _compiled(pattern).fullmatch(value):
        yield _fault(value, path, f"satisfy regular expression pattern: {pattern}")
    allowed = metadata.get("enum")
    if allowed and value not in allowed:
        yield _fault(value, path, f"satisfy enum value set: [{', '.join(allowed)}]")


def _faults(shape: Shape, value: Any, path: str) -> Iterator[str]:
    kind = shape.type_name
    if not isinstance(value, _PYTHON.get(kind, object)) or (kind != "boolean" and isinstance(value, bool)):
        raise SerializationException(f"{path or 'the request'} must be of type {kind}, not {type(value).__name__}")
    if kind == "structure":
        yield from _structure_faults(shape, value, path)
    elif kind == "list":
        yield from _bound_faults(shape.metadata, len(value), value, path, "length")
        for index, member in enumerate(value, 1):
            yield from _faults(shape.member, member, f"{path}.{index}.member")
    elif kind == "map":
        yield from _bound_faults(shape.metadata, len(value), value, path, "length")
        for key, member in value.items():
            yield from _faults(shape.key, key, f"{path}.key")
            yield from _faults(shape.value, member, f"{path}.{key}.member")
    elif kind == "string":
        yield from string_faults(shape.metadata, value, path)
    elif kind == "timestamp" and not isinstance(value, datetime) and not 0 <= value < _YEAR_10000:
        raise SerializationException(f"{path or 'the request'} is no time: {str(value)[:200]}")
    elif kind in ("integer", "long", "float", "double"):
        yield from _bound_faults(shape.metadata, value, value, path, "value")


def _structure_faults(shape: Shape, value: dict[str, Any], path: str) -> Iterator[str]:
    for name, member in shape.members.items():
        place = f"{path}.{name[0].lower()}{name[1:]}".lstrip(".")
        content = value.get(name)
        if content is None:
            if name in shape.required_members:
                yield f"Value null at '{place}' failed to satisfy constraint: Member must not be null"
        else:
            yield from _faults(member, content, place)


def _bound_faults(metadata: Mapping[str, Any], size: float, value: Any, path: str, measure: str) -> Iterator[str]:
    if size < metadata.get("min", size):
        yield _fault(value, path, f"have {measure} greater than or equal to {metadata['min']}")
    if size > metadata.get("max", size):
        yield _fault(value, path, f"have {measure} less than or equal to {metadata['max']}")


def _fault(value: Any, path: str, rule: str) -> str:
    shown = str(value)
    shown = shown if len(shown) <= 200 else shown[:200] + "…"
    return f"Value '{shown}' at '{path}' failed to satisfy constraint: Member must {rule}"


@cache
def _compiled(pattern: str) -> Any:
    # Java's \p{Print} is ASCII's, regex's is Unicode's. A pair of surrogates is one character for Java.
    pattern = _PRINT.sub(lambda found: found[0].replace(r"\p{Print}", r"\x20-\x7e"), pattern)
    pattern = pattern.replace(r"\p{Print}", r"[\x20-\x7e]")
    return regex.compile(pattern.replace(r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010FFFF"))
