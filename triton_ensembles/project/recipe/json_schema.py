"""The JSON schema of ensemble.toml, for editors: draft 7, which the TOML extensions of all of them know."""

import re
from typing import Any

from triton_ensembles.project.recipe.artifact_kinds import RUN, SCRIPT
from triton_ensembles.project.recipe.schema import Recipe
from triton_ensembles.version import __version__

_DRAFT = "http://json-schema.org/draft-07/schema#"
_NULL = {"type": "null"}


def json_schema() -> dict[str, Any]:
    """The keys and values of a recipe, as far as a schema can say; names that refer to each other are not compared."""
    schema: dict[str, Any] = _for_toml(Recipe.model_json_schema())
    tables = schema.pop("$defs")
    tables["Artifact"] |= {
        "if": {"properties": {"maker": {"const": SCRIPT}}},
        "then": {"required": [RUN]},
        "else": {"properties": {RUN: False}},
    }
    identity = {"$schema": _DRAFT, "$id": f"urn:triton-ensembles:{__version__}:ensemble.toml"}
    return {**identity, **schema, "definitions": tables}


def _for_toml(node: Any) -> Any:
    """Pydantic's schema, which is of a newer draft, without null, which TOML does not have."""
    if isinstance(node, list):
        return [_for_toml(inner) for inner in node]
    if not isinstance(node, dict):
        return node.replace("#/$defs/", "#/definitions/") if isinstance(node, str) else node
    if _NULL in (choices := node.get("anyOf", [])):
        (kept,) = (inner for inner in choices if inner != _NULL)
        node = {key: value for key, value in node.items() if key not in ("anyOf", "default")} | kept
    if len(patterns := node.get("patternProperties", {})) == 1:  # else a name with another pattern would pass
        ((pattern, value),) = patterns.items()
        node = {key: inner for key, inner in node.items() if key != "patternProperties"}
        node |= {"propertyNames": {"pattern": pattern}, "additionalProperties": value}
    if "$ref" in node and len(node) > 1:  # whose neighbors draft 7 ignores
        node = {key: inner for key, inner in node.items() if key != "$ref"} | {"allOf": [{"$ref": node["$ref"]}]}
    if isinstance(text := node.get("description"), str):
        node = node | {"description": re.sub(r"\s+", " ", text).replace("``", "`")}
    return {key: inner if key in ("default", "examples") else _for_toml(inner) for key, inner in node.items()}
