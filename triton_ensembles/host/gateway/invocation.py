"""A request to /invocations: its model and its payload.

Three kinds of body are taken:

- the gateway's own JSON, ``{"modelname": "resnet", "version": "1", "payload": {"img": "<base64>"}}``;
- raw bytes of one input, ``image/jpeg`` or ``text/plain``;
- KServe v2, JSON or with binary tensors, which Triton gets as it is; also for models that no table has.

The last two name the model in ``X-Amzn-SageMaker-Custom-Attributes: modelname=resnet;version=1``.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from triton_ensembles.ground.spelling import nearest
from triton_ensembles.host.gateway.models_toml import Model, Table, of_the_host
from triton_ensembles.host.refusal import Refused

ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
BINARY = "application/vnd.sagemaker-triton.binary+json"
"""The media type of KServe v2 with binary tensors; ``json-header-size`` is the length of the JSON part."""

_KEYS = ("modelname", "version", "payload")
_SEPARATORS = re.compile(r"[;,]")
_VERSION = re.compile(r"[1-9][0-9]{0,18}")
_HEADER_SIZE = re.compile(r"json-header-size=(\d{1,9})")


@dataclass(frozen=True)
class Raw:
    """The bytes of one input. ``text`` tells an input that is made from text from one that is made from a file."""

    body: bytes
    text: bool


Payload = Mapping[str, Any] | Raw
"""That of the gateway's own JSON has the values by field."""


@dataclass(frozen=True)
class KServe:
    """A body for Triton. ``header_size`` is the length of its JSON part in bytes, if binary tensors follow."""

    body: bytes
    header_size: int | None


@dataclass(frozen=True)
class Invocation:
    """The model that a request names, and its payload."""

    model: Model
    payload: Payload | KServe


def read_invocation(table: Table, headers: Mapping[str, str], body: bytes) -> Invocation:
    """Read a request. ``headers`` has Content-Type, Content-Encoding and :data:`ATTRIBUTES`; "" for those not sent.

    Raises:
        Refused: 400 for what cannot be read, 404 for unknown models, 415 for other media types and compressed bodies.
    """
    if (coding := headers["Content-Encoding"].strip().lower()) not in ("", "identity"):
        raise Refused(415, f"Content-Encoding {coding!r} is not taken: send the body as it is")
    media_type, _, parameters = headers["Content-Type"].partition(";")
    media_type, attributes = media_type.strip().lower(), _attributes(headers[ATTRIBUTES])
    if media_type == BINARY:
        match = _HEADER_SIZE.search(parameters)
        if match is None or int(match[1]) > len(body):
            raise Refused(400, f"{BINARY} needs json-header-size, the length of the body's JSON part in bytes")
        if size := int(match[1]):  # without a JSON part, the body is the only tensor
            _require_inputs(_json(body[:size], "the JSON part of the body"))
        return Invocation(_model_of(attributes, table, any_model=True), KServe(body, size))
    if media_type.startswith("image/") or media_type == "text/plain":
        return Invocation(_model_of(attributes, table), Raw(body, text=media_type == "text/plain"))
    if media_type in ("application/json", "") or body.lstrip()[:1] == b"{":  # clients that give no type send others
        return _read_json(table, attributes, body)
    if media_type == "application/octet-stream":
        return Invocation(_model_of(attributes, table), Raw(body, text=False))
    message = f"Content-Type {media_type!r} is not taken: send application/json, an image, text/plain, or {BINARY}"
    raise Refused(415, message)


def _read_json(table: Table, attributes: Mapping[str, str], body: bytes) -> Invocation:
    content = _json(body, "the body")
    if "inputs" in content and "payload" not in content:
        _require_inputs(content)
        return Invocation(_model_of({**attributes, **_names(content)}, table, any_model=True), KServe(body, None))
    for key in content:
        if key not in _KEYS:
            suggestion = nearest(key, _KEYS)
            raise Refused(400, f"unknown key {key[:100]!r}" + (f"; did you mean {suggestion!r}?" if suggestion else ""))
    payload = content.get("payload")
    names = {**attributes, **_names(content)}
    if "modelname" not in names:
        raise Refused(400, "modelname is missing", models=[*table.by_name])
    model = _find(table, names["modelname"], names.get("version"))
    if not isinstance(payload, dict):
        raise Refused(400, "payload must be an object, such as " + _example(model))
    return Invocation(model, payload)


def _json(text: bytes, part: str) -> dict[str, Any]:
    if not text:
        raise Refused(400, f"{part} is empty")
    try:
        content = from_json(text.removeprefix(BOM_UTF8), allow_inf_nan=False)
    except ValueError as error:
        raise Refused(400, f"{part} is not JSON in UTF-8: {error}") from None
    if not isinstance(content, dict):
        raise Refused(400, f"{part} must be a JSON object, with modelname and payload, or with inputs of KServe v2")
    return content


def _require_inputs(content: Mapping[str, Any]) -> None:
    if not isinstance(content.get("inputs"), list):
        raise Refused(400, "inputs must be a list of tensors, as KServe v2 has it")


def _model_of(attributes: Mapping[str, str], table: Table, *, any_model: bool = False) -> Model:
    if "modelname" not in attributes:
        first = next((f"{model.name};version={model.version}" for model in table.models), "NAME")
        message = f"such a body says nothing of its model: name it by the header {ATTRIBUTES}: modelname={first}"
        raise Refused(400, message)
    name, version = attributes["modelname"], attributes.get("version", "")
    if any_model and name not in table.by_name:
        if version and not _VERSION.fullmatch(version):
            raise Refused(404, f"{name[:100]} has no version {version[:100]!r}: Triton's are numbers")
        return of_the_host(name, version)
    return _find(table, name, version)


def _names(content: Mapping[str, Any]) -> Mapping[str, str]:
    """The name and version in a body; clients send versions as numbers also."""
    names: dict[str, str] = {}
    for key, types, description in (("modelname", str, "a string"), ("version", str | int, "a string or an integer")):
        value = content.get(key)
        if isinstance(value, bool) or not isinstance(value, types | None):
            raise Refused(400, f"{key} must be {description}")
        if value is not None:
            names[key] = str(value)
    return names


def _find(table: Table, name: str, version: str | None) -> Model:
    models = table.by_name.get(name, ())
    if not table.models:
        raise Refused(404, f"no table says what becomes of a payload for {name[:100]!r}: send it as KServe v2 has it")
    if not models:
        message = f"there is no model {name[:100]!r}; there are {', '.join(table.by_name)}"
        raise Refused(404, message, models=[*table.by_name])
    if not version:
        return models[0]
    for model in models:
        if model.version == version:
            return model
    versions = [model.version for model in models]
    raise Refused(404, f"{name} has no version {version[:100]!r}; it has {', '.join(versions)}", versions=versions)


def _attributes(header: str) -> Mapping[str, str]:
    """``modelname=resnet;version=1``; clients may add others of their own."""
    pairs = (part.partition("=") for part in _SEPARATORS.split(header))
    return {key.strip().lower(): value.strip() for key, _, value in pairs if value.strip()}


def _example(model: Model) -> str:
    values = {"base64": "<base64>", "text": "<text>", "json": []}
    return json.dumps({source.field: values[source.form] for source in model.inputs.values()})
