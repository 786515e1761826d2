"""Settings in the text of an ensemble.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from checkout import ENSEMBLES
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.tuning.recipe_edit import edit_recipe

INSTANCES = ("engines", "a", "instances")

CASES = [
    ("[engines.a]\ninstances = 1 # one\n", "[engines.a]\ninstances = 2 # one\n"),
    ("[engines.a]\r\nbackend='x'\r\n\r\n[b]\r\n", "[engines.a]\r\nbackend='x'\r\ninstances = 2\r\n\r\n[b]\r\n"),
    ("[engines.a] # it\n[b]\n", "[engines.a] # it\ninstances = 2\n[b]\n"),
    ("[engines.a]", "[engines.a]\ninstances = 2\n"),
    ("[ engines . 'a' ]\n'instances'=1", "[ engines . 'a' ]\n'instances'=2"),
    ("engines.a.backend = 'x'\n[b]\n", "engines.a.backend = 'x'\nengines.a.instances = 2\n[b]\n"),
    ("[engines]\na.backend = 'x'\nb.x = 1\n", "[engines]\na.backend = 'x'\na.instances = 2\nb.x = 1\n"),
    ("[engines]\na = { backend = 'x' }\n", "[engines]\na = { backend = 'x', instances = 2}\n"),
    ("[engines]\na = { instances = 1, backend = 'x' }\n", "[engines]\na = { instances = 2, backend = 'x' }\n"),
    ("engines = { }\n", "engines = { a = {instances = 2}}\n"),
    ("x = '''\n[engines.a]\ny = 1'''\n", "x = '''\n[engines.a]\ny = 1'''\n\n[engines.a]\ninstances = 2\n"),
    ("[[engines_of]]\ninstances = 1\n", "[[engines_of]]\ninstances = 1\n\n[engines.a]\ninstances = 2\n"),
    ("# nothing", "# nothing\n[engines.a]\ninstances = 2\n"),
    ("[engines.a]\nx = 1\n\n# of b\n[b]\n", "[engines.a]\nx = 1\ninstances = 2\n\n# of b\n[b]\n"),
    ("[engines.b]\nx = 1\n\n# of c\n[c]\n", "[engines.b]\nx = 1\n\n[engines.a]\ninstances = 2\n\n# of c\n[c]\n"),
    (
        'x = ["]", """"\n""", {a = 1}, # ]\n]\n[engines.a]\n',
        'x = ["]", """"\n""", {a = 1}, # ]\n]\n[engines.a]\ninstances = 2\n',
    ),
]


@pytest.mark.parametrize(("text", "wanted"), CASES, ids=[case[0][:40] for case in CASES])
def test_only_the_value_changes(text: str, wanted: str) -> None:
    """Otherwise --write rewrites a file that people wrote, or loses what it says."""
    assert edit_recipe(text, Path("ensemble.toml"), {INSTANCES: 2}) == wanted


def test_keys_that_are_not_words_are_quoted() -> None:
    """Otherwise a step or a parameter with a dot in its name becomes two tables."""
    changes = {("parameters", "a.b", "x y"): "1", ("parameters", "a.b", "z"): "2"}
    edited = edit_recipe("", Path("ensemble.toml"), changes)
    assert edited == '[parameters."a.b"]\n"x y" = "1"\nz = "2"\n'


def test_what_cannot_be_edited_is_refused() -> None:
    """Otherwise --write would break the recipe."""
    reason = "ensemble.toml: engines.a.instances cannot be set to 2 in this text; write"
    with pytest.raises(EnsembleError, match=reason):
        edit_recipe("engines = 1\n", Path("ensemble.toml"), {INSTANCES: 2})


@pytest.mark.parametrize("path", sorted(ENSEMBLES.glob("*/ensemble.toml")), ids=lambda path: path.parts[-2])
def test_every_recipe_of_the_project_can_be_edited(path: Path) -> None:
    """Otherwise a comment of somebody else disappears with the first `tune --write`."""
    text = path.read_bytes().decode()
    edited = edit_recipe(text, path, {INSTANCES: 2, ("engines", "a", "backend"): "openvino"})
    assert tomllib.loads(edited)["engines"]["a"] == {"instances": 2, "backend": "openvino"}
    lines = iter(edited.splitlines())
    assert all(line in lines for line in text.splitlines()), "a line is lost or moved"
