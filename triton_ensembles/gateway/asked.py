"""What a request to /invocations asks for.

Three kinds of body are taken:

- the gateway's own JSON, ``{"modelname": "resnet", "version": "1", "payload": {"img": "<base64>"}}``;
- raw bytes of one input, ``image/jpeg`` or ``text/plain``;
- KServe v2, JSON or with binary tensors, which Triton gets as it is.

The last two name the model in ``X-Amzn-SageMaker-Custom-Attributes: modelname=resnet;version=1``.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from pydantic_core import from_json

from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.table import Model, Table
from triton_ensembles.spelling import nearest

ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
BINARY = "application/vnd.sagemaker-triton.binary+json"
"""The media type of KServe v2 with binary tensors; ``json-header-size`` is the length of the JSON part."""

_KEYS = ("modelname", "version", "payload")
_SEPARATORS = re.compile(r"[;,]")
_CHARSET = re.compile(r"""\bcharset\s*=\s*["']?([^\s;"']{1,40})""", re.IGNORECASE)
_QUOTED = re.compile(r'^"(.*)"$')
_HEADER_SIZE = re.compile(r"json-header-size=(\d{1,9})")


@dataclass(frozen=True)
class Fields:
    """The payload of the gateway's own JSON."""

    values: Mapping[str, Any]


@dataclass(frozen=True)
class Raw:
    """The bytes of one input. ``text`` says which: the one that is made from text, or from a file."""

    body: bytes
    text: bool


@dataclass(frozen=True)
class KServe:
    """A body for Triton. ``header_size`` is the length of its JSON part, if binary tensors follow."""

    body: bytes
    header_size: int | None


@dataclass(frozen=True)
class Asked:
    """A request: for which model, and with what."""

    model: Model
    payload: Fields | Raw | KServe


def read_request(table: Table, headers: Mapping[str, str], body: bytes) -> Asked:
    """``headers`` are by name in small letters.

    Raises:
        Refused: 400 for what cannot be read, 404 for unknown models, 415 for other media types and compressed bodies.
    """
    if (coding := headers.get("content-encoding", "").strip().lower()) not in ("", "identity"):
        raise Refused(415, f"Content-Encoding {coding!r} is not taken: send the body as it is")
    kind, _, parameters = headers.get("content-type", "").partition(";")
    kind, attributes = kind.strip().lower(), _attributes(headers.get(ATTRIBUTES.lower(), ""))
    if kind == BINARY:
        found = _HEADER_SIZE.search(parameters)
        if found is None or int(found[1]) > len(body):
            raise Refused(400, f"{BINARY} needs json-header-size, the length of the body's JSON part in bytes")
        if size := int(found[1]):  # without a JSON part, the body is the only tensor
            _require_inputs(_json(body[:size], "the JSON part of the body"))
        return Asked(_named_in(attributes, table), KServe(body, size))
    if kind == "text/plain":
        _require_utf_8(parameters)
    if kind.startswith("image/") or kind == "text/plain":
        return Asked(_named_in(attributes, table), Raw(body, text=kind == "text/plain"))
    if kind in ("application/json", "") or body.lstrip()[:1] == b"{":  # clients that give no type send others
        return _read_json(table, attributes, body)
    if kind == "application/octet-stream":
        return Asked(_named_in(attributes, table), Raw(body, text=False))
    raise Refused(415, f"Content-Type {kind!r} is not taken: send application/json, an image, text/plain, or {BINARY}")


def _read_json(table: Table, attributes: Mapping[str, str], body: bytes) -> Asked:
    given = _json(body, "the body")
    if "inputs" in given and "payload" not in given:
        _require_inputs(given)
        return Asked(_named_in({**attributes, **_named(given)}, table), KServe(body, None))
    for key in given:
        if key not in _KEYS:
            meant = nearest(key, _KEYS)
            raise Refused(400, f"unknown key {key[:100]!r}" + (f"; did you mean {meant!r}?" if meant else ""))
    payload = given.get("payload")
    named = {**attributes, **_named(given)}
    model = _find(table, named.get("modelname"), named.get("version"))
    if not isinstance(payload, dict):
        raise Refused(400, "payload must be an object, such as " + _example(model))
    return Asked(model, Fields(payload))


def _json(text: bytes, what: str) -> dict[str, Any]:
    if not text:
        raise Refused(400, f"{what} is empty")
    try:
        given = from_json(text.removeprefix(BOM_UTF8), allow_inf_nan=False)
    except ValueError as error:
        raise Refused(400, f"{what} is not JSON in UTF-8: {error}") from None
    if not isinstance(given, dict):
        raise Refused(400, f"{what} must be a JSON object, with modelname and payload, or with inputs of KServe v2")
    return given


def _require_inputs(given: Mapping[str, Any]) -> None:
    if not isinstance(given.get("inputs"), list):
        raise Refused(400, "inputs must be a list of tensors, as KServe v2 has it")


def _named_in(attributes: Mapping[str, str], table: Table) -> Model:
    if "modelname" not in attributes:
        example = f"{ATTRIBUTES}: modelname={table.models[0].name};version={table.models[0].version}"
        raise Refused(400, f"such a body says nothing of its model: name it by the header {example}")
    return _find(table, attributes["modelname"], attributes.get("version"))


def _named(given: Mapping[str, Any]) -> Mapping[str, str]:
    """The name and version of a body; clients send versions as numbers, too."""
    found: dict[str, str] = {}
    for key, kinds, what in (("modelname", str, "a string"), ("version", str | int, "a string or an integer")):
        value = given.get(key)
        if isinstance(value, bool) or not isinstance(value, kinds | None):
            raise Refused(400, f"{key} must be {what}")
        if value is not None:
            found[key] = str(value)
    return found


def _find(table: Table, name: str | None, version: str | None) -> Model:
    if name is None:
        raise Refused(400, "modelname is missing", models=[*table.by_name])
    versions = table.by_name.get(name, ())
    if not versions:
        raise Refused(
            404, f"there is no model {name[:100]!r}; there are {', '.join(table.by_name)}", models=[*table.by_name]
        )
    if not version:
        return versions[0]
    for each in versions:
        if each.version == version:
            return each
    known = [each.version for each in versions]
    raise Refused(404, f"{name} has no version {version[:100]!r}; it has {', '.join(known)}", versions=known)


@lru_cache(maxsize=256)  # clients send the same again and again
def _attributes(header: str) -> Mapping[str, str]:
    """``modelname=resnet;version=1``, quoted or percent-encoded where need be; clients may add others of their own."""
    pairs = (part.partition("=") for part in _SEPARATORS.split(header)) if header else ()
    found: dict[str, str] = {}
    for key, _, value in pairs:
        key, value = key.strip().lower(), unquote(_QUOTED.sub(r"\1", value.strip()))
        if value and key in ("modelname", "version") and found.setdefault(key, value) != value:
            raise Refused(400, f"{ATTRIBUTES} names two of {key}: {found[key][:100]!r} and {value[:100]!r}")
    return found


def _require_utf_8(parameters: str) -> None:
    found = _CHARSET.search(parameters)
    if found and found[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise Refused(415, f"charset {found[1]!r} is not taken: send the text as UTF-8")


def _example(model: Model) -> str:
    kinds = {"base64": "<base64>", "text": "<text>", "json": []}
    return json.dumps({each.field: kinds[each.form] for each in model.inputs.values()})
