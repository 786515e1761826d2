"""The JSON schema of ensemble.toml: editors accept and refuse what the build does, and the reference is made of it."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from checkout import ENSEMBLES, ROOT
from docs.generators import ensemble_toml as reference
from tests.checking.test_cases import TABLES, example, read
from tests.commands.projects import run_in
from tests.docs.blocks import PAGES, blocks_of
from triton_ensembles.project.recipe.json_schema import json_schema
from triton_ensembles.project.recipe.places import RECIPE, find_ensembles
from triton_ensembles.project.recipe.reader import parse_recipe
from triton_ensembles.version import __version__

SCHEMA = json_schema()
VALIDATOR = Draft7Validator(SCHEMA)
# The tables of cases have the recipes that the build refuses, and those beside them which it reads.
TABLE = read(next(path for path in TABLES if path.stem == "recipe-unreadable"))
# Their parts contradict each other; each of them alone is right.
BY_THE_BUILD_ALONE = {
    "file-of-no-artifact", "precision-without-accuracy", "precision-of-another-engine", "engine-of-other-files",
    "engine-of-no-step",
}  # fmt: skip


def is_valid(text: str) -> bool:
    """Return whether an editor accepts it."""
    return VALIDATOR.is_valid(tomllib.loads(text))


def test_it_is_a_schema_with_an_identity_and_titles() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"].startswith("http://json-schema.org/draft-07/")
    assert SCHEMA["$id"] == f"urn:triton-ensembles:{__version__}:ensemble.toml"
    tables = [SCHEMA, *SCHEMA["definitions"].values()]
    for node in [*tables, *(key for table in tables for key in table["properties"].values())]:
        assert node.get("description") and "\n" not in node["description"], node
    for table in tables:
        assert table["title"] and table["additionalProperties"] is False
        assert all(key.get("examples") for key in table["properties"].values()), table["title"]


def test_no_part_of_it_is_lost_to_draft_7() -> None:
    """That draft ignores what stands beside a reference, and has no $defs."""

    def look(node: Any) -> None:
        if isinstance(node, dict):
            assert not ("$ref" in node and len(node) > 1), node
            assert "$defs" not in node and node.get("type") != "null"
        for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            look(inner)

    look(SCHEMA)


def test_the_recipes_of_the_project_and_of_the_documentation_are_valid() -> None:
    blocks = [block.text for page in PAGES for block in blocks_of(page) if block.kind == "toml"]
    whole = [text for text in blocks if "description" in text]
    assert reference.EXAMPLE in whole
    recipes = [(folder / RECIPE).read_text(encoding="utf-8") for folder in find_ensembles(ENSEMBLES)]
    for text in [*whole, *recipes]:
        assert is_valid(text) and parse_recipe(text, Path(RECIPE)), text


@pytest.mark.parametrize("name", TABLE["cases"])
def test_an_editor_accepts_and_refuses_what_the_build_does(name: str) -> None:
    """Otherwise an editor praises what the build refuses, or the other way round."""
    case = TABLE["cases"][name]
    text = example(TABLE, case, "model").beside["ensemble.toml"]
    assert text and is_valid(text) == (not case["says"] or name in BY_THE_BUILD_ALONE)


def test_the_examples_of_keys_are_valid() -> None:
    """Otherwise somebody copies one, and the build refuses it."""
    for table in (SCHEMA, *SCHEMA["definitions"].values()):
        for key, value in table["properties"].items():
            validator = Draft7Validator({**value, "definitions": SCHEMA["definitions"]})
            for written in value["examples"]:
                assert validator.is_valid(written), (table["title"], key, written)
                assert tomllib.loads(f"x = {reference.toml(written)}") == {"x": written}


def test_the_reference_is_up_to_date_and_has_every_key() -> None:
    """Otherwise people read about keys as they were: run python -m docs.generators.ensemble_toml."""
    text = (ROOT / reference.PAGE).read_text(encoding="utf-8")
    assert text == reference.page()
    for table in (SCHEMA, *SCHEMA["definitions"].values()):
        for key in table["properties"]:
            assert re.search(rf"\n\| `(\w+\.)?{key}` \|", text), key


def test_the_command_prints_it_or_writes_it(tmp_path: Path) -> None:
    assert json.loads(run_in(ROOT, "schema").stdout) == SCHEMA
    file = tmp_path / "new" / "ensemble.schema.json"
    assert run_in(ROOT, "schema", "-o", file).exit_code == 0
    assert json.loads(file.read_text(encoding="utf-8")) == SCHEMA
