"""Folders of ensembles/: what the build makes may be missing, everything else is a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_ensembles.check import check
from triton_ensembles.check.examples import SCALE, ensemble, python_model
from triton_ensembles.check.rule import Example
from triton_ensembles.check.source_form import Recipe, read_recipe
from triton_ensembles.check.staging_example import stage
from triton_ensembles.triton.destination import Destination

RECIPE = """\
[[artifacts]]
path = "detect/1/model.onnx"
maker = "copy"
"""
DETECT = python_model("instance_group [ { count: 1, kind: KIND_GPU } ]", backend='platform: "onnxruntime_onnx"')


def rules(tmp_path: Path, recipe: str | None, target: str = "") -> set[str]:
    stage(Example(ensemble(SCALE), {"1/README.md": "Git keeps no empty folders.\n"}), tmp_path / "mine", "ensemble")
    stage(Example(DETECT, {"labels.txt": "cat\n"}), tmp_path / "mine", "detect")
    if recipe is not None:
        (tmp_path / "mine" / "ensemble.toml").write_text(recipe)
    return {fault.rule for fault in check([tmp_path], Destination(target)).faults if fault.rule.startswith(GROUP_1)}


GROUP_1 = ("model", "version", "instance-group", "recipe", "platform", "backend", "step", "ensemble", "config")


def test_a_file_that_the_recipe_makes_may_be_missing(tmp_path: Path) -> None:
    """Otherwise every fresh clone of this project is full of faults."""
    assert rules(tmp_path, RECIPE, "cpu") == set()


def test_without_a_recipe_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    """Otherwise a repository without its model files passes."""
    assert rules(tmp_path, None, "cpu") == {"version-not-available", "instance-group-gpu-on-cpu"}


def test_a_recipe_for_another_step_does_not_count(tmp_path: Path) -> None:
    """Otherwise a step whose file nothing makes passes."""
    assert rules(tmp_path, RECIPE.replace("detect/", "other/")) == {"version-not-available"}


def test_a_recipe_that_is_not_toml_is_a_fault_at_its_line(tmp_path: Path) -> None:
    """Otherwise only the build reports a broken recipe."""
    assert "recipe-unreadable" in rules(tmp_path, RECIPE + "path = \n")
    (fault,) = [fault for fault in check([tmp_path]).faults if fault.rule == "recipe-unreadable"]
    assert fault.place.path.endswith("ensemble.toml") and fault.place.line == 4


@pytest.mark.parametrize(
    "text", ["", "artifacts = 3", "[[artifacts]]\npath = 1", "environments = []", "a = " + "[" * 9000]
)
def test_odd_recipes_are_read_as_empty(text: str) -> None:
    """Otherwise an odd recipe makes the checker crash."""
    recipe = read_recipe(text)
    assert (recipe.made, recipe.environment_steps) == (Recipe().made, Recipe().environment_steps)
