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
from tests.commands.projects import run_in
from tests.docs.blocks import PAGES, blocks_of
from triton_ensembles.project.recipe.json_schema import json_schema
from triton_ensembles.project.recipe.places import RECIPE, find_ensembles
from triton_ensembles.project.recipe.reader import recipe_and_faults
from triton_ensembles.version import __version__

SCHEMA = json_schema()
VALIDATOR = Draft7Validator(SCHEMA)
SHA256 = "0" * 64
SOURCE = f'[sources.w]\nfrom = [{{ path = "w" }}]\nfiles = {{ a = "{SHA256}" }}\n'
ARTIFACT = '[[artifacts]]\npath = "x/1/model.onnx"\nmaker = "copy"\n'
GOOD = f'description = "d"\n{SOURCE}{ARTIFACT}accuracy = "sentences"\n[engines.x]\nbackend = "openvino"\n'


def is_valid(text: str) -> bool:
    """Whether an editor accepts it."""
    return VALIDATOR.is_valid(tomllib.loads(text))


def is_read(text: str) -> bool:
    """Whether the build accepts it."""
    return recipe_and_faults(text, Path(RECIPE))[0] is not None


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
    for text in [*whole, *recipes, GOOD]:
        assert is_valid(text) and is_read(text), text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('description = "d"\n', ""),
        ('description = "d"', 'description = "d"\nrequires = "0.2"'),
        ('description = "d"', 'description = "d"\nparameters.x.pad_to = 8'),
        ("[sources.w]", '[sources.".w"]'),
        ('[{ path = "w" }]', '{ path = "w" }'),
        ('[{ path = "w" }]', "[]"),
        ('{ path = "w" }', '{ path = " " }'),
        ('{ path = "w" }', '{ path = "w", url = "https://example.org/" }'),
        ('{ path = "w" }', '{ url = "https://example.org/model.onnx" }'),
        ('{ path = "w" }', '{ url = "s3://bucket" }'),
        ('{ path = "w" }', '{ hub = "a/b", revision = "main" }'),
        ('{ path = "w" }', '{ package = "weights", folder = "data" }'),
        ('{ path = "w" }', '{ package = "weights==1.0", folder = "../data" }'),
        (SHA256, "A" * 64),
        (f'{{ a = "{SHA256}" }}', "{}"),
        (f'{{ a = "{SHA256}" }}', f'{{ "../a" = "{SHA256}" }}'),
        ('"x/1/model.onnx"', '"/x/1/model.onnx"'),
        ('"x/1/model.onnx"', '"x/../../model.onnx"'),
        ('path = "x/1/model.onnx"\n', ""),
        ('"copy"', '"copy"\nrun = "make.py"'),
        ('"copy"', '"copy"\nreads = "make.py"'),
        ('"copy"', '"copy"\noptions = { sizes = [[1]] }'),
        ('"copy"', '"copy"\nrandom = { maker = "zeros" }'),
        ('"sentences"', '"sentence"'),
        ('"sentences"', '"../accuracy.py"'),
        ('"sentences"', '{ run = "accuracy.py", reads = "holdout.npz" }'),
        ('"openvino"', '"openvino"\ninstances = true'),
        ('"openvino"', '"openvino"\n[environments.e]\nfile = "e.yml"\nsteps = []'),
        ('"openvino"', '"openvino"\n[environments.e]\nfile = "e.yml"\nsteps = ["x"]\nkind = "wheel"'),
    ],
)
def test_what_is_wrong_is_refused_by_the_editor_and_by_the_build(old: str, new: str) -> None:
    """Otherwise an editor praises what the build refuses, or the other way round."""
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    assert (is_valid(text), is_read(text)) == (False, False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('description = "d"', 'description = "d"\nrequires = ">=0.1, <9"'),
        ("[sources.w]", '[sources."my weights"]'),
        ('{ path = "w" }', '{ path = "../../share/weights v2" }'),
        ('{ path = "w" }', '{ path = "~/weights" }, { url = "s3://bucket/" }'),
        (f'{{ a = "{SHA256}" }}', f'{{ "a/..b/c.bin" = "{SHA256}" }}'),
        ('"copy"', '"script"\nrun = "make.py"'),
        ('"copy"', '"script"\nrun = "make.py"\noptions = { half = true, rate = 0.1, sizes = [3, 224], name = "x" }'),
        ('"sentences"', '"scripts/accuracy.py"'),
        ('"sentences"', '{ run = "scripts/check", options = { at_least = 0.7 } }'),
        ('"openvino"', '"openvino"\nprecision = "bf16"\ninstances = 64'),
    ],
)
def test_what_is_right_is_accepted_by_both(old: str, new: str) -> None:
    text = GOOD.replace(old, new, 1)
    assert (is_valid(text), is_read(text)) == (True, True)


def test_the_examples_of_keys_are_valid() -> None:
    """Otherwise somebody copies one, and the build refuses it."""
    for table in (SCHEMA, *SCHEMA["definitions"].values()):
        for key, value in table["properties"].items():
            validator = Draft7Validator({**value, "definitions": SCHEMA["definitions"]})
            for example in value["examples"]:
                assert validator.is_valid(example), (table["title"], key, example)
                assert tomllib.loads(f"x = {reference.toml(example)}") == {"x": example}


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
