"""docs/ensemble-toml.md, made from the JSON schema: python -m docs.generators.ensemble_toml"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from triton_ensembles.ground.files import write_whole
from triton_ensembles.project.recipe.artifact_kinds import NEEDS
from triton_ensembles.project.recipe.json_schema import json_schema
from triton_ensembles.project.recipe.values import SCALAR

PAGE = Path("docs/ensemble-toml.md")  # of the checkout, from its root
EXAMPLE = """\
#:schema ../../ensemble.schema.json
requires = ">=0.2"
description = "Sentences to unit vectors"

[sources.encoder]
from = [
  { path = "weights/encoder" },
  { url = "s3://my-models/encoder/v3/" },
  { hub = "sentence-transformers/all-MiniLM-L6-v2", revision = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf" },
]

[sources.encoder.files]
"model.safetensors" = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"tokenizer.json" = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

[[artifacts]]
path = "encoder/1/model.onnx"
maker = "script"
run = "scripts/make_encoder.py"
source = "encoder"
options = { hidden = 384 }
accuracy = { run = "scripts/accuracy.py", reads = ["data/holdout.npz"], options = { at_least = 0.76 } }

[engines.encoder]
backend = "openvino"
precision = "bf16"
instances = 2

[environments.processing]
file = "envs/processing.yml"
steps = ["preprocess", "postprocess"]
kind = "wheels"

[parameters.preprocess]
max_tokens = "128"
"""
_HEAD = f"""\
# ensemble.toml

The recipe of an ensemble, beside its models in `ensembles/NAME/`: what git does not hold. Made from the schema by
`python -m docs.generators.ensemble_toml`; do not edit. Only `description` is required.

```toml
{EXAMPLE}```

`triton-ensembles schema -o ensemble.schema.json` writes the JSON schema, with which editors complete, explain and check
keys. Those with taplo (Even Better TOML, and others) find it by the first line above. `triton-ensembles check` finds
what only the whole project can tell, such as a step that does not exist. Paths are relative to the project, the folder
that holds `ensembles/`, unless stated otherwise. A key that this version does not know is an error.
"""
_TABLES = ("Source", "Artifact", "Engine", "Environment")
_PLACES = ("HubPlace", "PackagePlace", "PathPlace", "UrlPlace")
_PARTS = {"Random": "random", "AccuracyCheck": "accuracy", "AccuracyScript": "accuracy"}
_COLUMNS = "| key | type | default | meaning | example |\n|---|---|---|---|---|\n"
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
_OPTION_TYPES = {str: "text", int: "whole number", tuple: "list", bool: "true or false"}


def page() -> str:
    """The text of docs/ensemble-toml.md."""
    schema = json_schema()
    tables = schema["definitions"]
    parts = [_HEAD, _section("The top", schema)]
    for name in _TABLES:
        parts.append(_section(f"`{tables[name]['title']}`", tables[name], f"{tables[name]['description']}\n\n"))
        if name == "Source":
            parts.append(_places(tables))
        if name == "Artifact":
            parts.append(_parts(tables))
            parts.append(_makers())
    return "\n".join(parts)


def _section(heading: str, table: Mapping[str, Any], about: str = "") -> str:
    rows = "".join(_rows(table))
    return f"## {heading}\n\n{about}{_COLUMNS}{rows}"


def _places(tables: Mapping[str, Any]) -> str:
    """Return one table of the keys of all places, which have keys of their own."""
    rows = "".join(row for name in _PLACES for row in _rows(tables[name]))
    return f"### The places in `from`\n\n{_COLUMNS}{rows}"


def _parts(tables: Mapping[str, Any]) -> str:
    """Return one table of the parts of an artifact, with a line about each, whose name is before its keys."""
    about = "".join(f"- **{title}**: {tables[name]['description']}\n" for name, title in _PARTS.items())
    rows = "".join(row for name, title in _PARTS.items() for row in _rows(tables[name], f"{title}."))
    return f"### `random` and `accuracy`\n\n{about}\n{_COLUMNS}{rows}"


def _rows(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in table["properties"].items():
        default = f"`{toml(value['default'])}`" if "default" in value else "none"
        default = "**required**" if key in table.get("required", ()) else default
        examples = "<br>".join(f"`{_shortened(toml(example))}`" for example in value["examples"])
        cells = [f"`{prefix}{key}`", _type(value), default, value["description"], examples]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _type(value: Mapping[str, Any]) -> str:
    if value.get("enum") == [*NEEDS]:
        return "a [maker](#makers)"
    if "enum" in value:
        return " or ".join(f"`{toml(choice)}`" for choice in value["enum"])
    if value.get("anyOf", [{}])[0] == SCALAR:
        return "text, number, true or false, or a list of these"
    if choices := value.get("anyOf") or value.get("oneOf"):
        return ", or ".join(dict.fromkeys(map(_type, choices)))
    if reference := value.get("$ref") or value.get("allOf", [{}])[0].get("$ref"):
        title = json_schema()["definitions"][reference.rpartition("/")[2]]["title"]
        return f"table `{title}`"
    if value.get("pattern", "").endswith(".py$"):
        return "a script (`.py`)"
    if value.get("type") == "array":
        return f"list: {_type(value['items'])}"
    if value.get("type") == "object":
        return f"by name: {_type(value['additionalProperties'])}"
    most = f", {value['minimum']} to {value['maximum']}" if "maximum" in value else ""
    return _TYPES[value["type"]] + most


def _makers() -> str:
    rows = []
    for name, needs in NEEDS.items():
        reads = "`source`, all of its files" if needs.files else "`source` and `file`, or `needs`" if needs.file else ""
        reads = "`run`; `source`, `needs`, `reads` and `tools` are optional" if needs.any_options else reads
        options = [f"`{key}`: {_OPTION_TYPES[kind]}" for key, kind in needs.options.items() if key != "run"]
        options += [f"`{key}`: {_OPTION_TYPES[kind]}, optional" for key, kind in needs.optional.items()]
        options += ["any"] if needs.any_options else []
        rows.append(f"| `{name}` | {needs.makes} | {reads} | {'; '.join(options)} |\n")
    head = "### Makers\n\n| `maker` | makes | needs | `options` |\n|---|---|---|---|\n"
    tail = "\nThe arguments of scripts: [ensembles.md](ensembles.md#makers-of-your-own).\n"
    return head + "".join(rows) + tail


def toml(value: Any) -> str:
    """A value as TOML writes it on one line."""
    if isinstance(value, Mapping):
        items = ", ".join(f"{_key(key)} = {toml(item)}" for key, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _shortened(text: str) -> str:
    return re.sub(r"(?<=[0-9a-f]{8})[0-9a-f]{24,}", "…", text)


if __name__ == "__main__":
    with write_whole(PAGE) as partial:
        partial.write_text(page(), encoding="utf-8")
