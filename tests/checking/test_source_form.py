"""Folders of ensembles/: a file that the build makes may be missing, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_ensembles.checking import check
from triton_ensembles.checking.examples import SCALE, ensemble, python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.triton.destination import Destination

RECIPE = """\
description = "An example"

[sources.detector]
from = [{ url = "https://example.com/" }]
files = { "model.onnx" = "0000000000000000000000000000000000000000000000000000000000000000" }

[[artifacts]]
path = "detect/1/model.onnx"
maker = "copy"
source = "detector"
file = "model.onnx"
"""
DETECT = python_model("instance_group [ { count: 1, kind: KIND_GPU } ]", backend='platform: "onnxruntime_onnx"')


def project(tmp_path: Path, detect: str, recipe: str | None) -> None:
    stage(Example(ensemble(SCALE)), tmp_path / "mine", "ensemble")
    stage(Example(detect, {"labels.txt": "cat\n"}), tmp_path / "mine", "detect")
    if recipe is not None:
        (tmp_path / "mine" / "ensemble.toml").write_text(recipe)


def rules(tmp_path: Path, recipe: str | None, target: str = "") -> set[str]:
    project(tmp_path, DETECT, recipe)
    return {fault.rule for fault in check([tmp_path], Destination(target)).faults if fault.rule.startswith(GROUP_1)}


GROUP_1 = ("model", "version", "instance-group", "recipe", "platform", "backend", "step", "ensemble", "config")


@pytest.mark.parametrize(
    ("recipe", "target", "expected"),
    [
        (RECIPE, "cpu", set()),
        (None, "cpu", {"version-not-available", "instance-group-gpu-on-cpu"}),
        (RECIPE.replace("detect/", "other/"), "", {"version-not-available", "recipe-step-unknown"}),
    ],
    ids=["made", "no recipe", "another step"],
)
def test_only_a_file_that_the_recipe_makes_may_be_missing(
    tmp_path: Path, recipe: str | None, target: str, expected: set[str]
) -> None:
    """Otherwise every fresh clone is full of faults, or a step passes although nothing makes its file."""
    assert rules(tmp_path, recipe, target) == expected


@pytest.mark.parametrize(
    ("recipe", "line", "words"),
    [
        (RECIPE + "path = \n", 12, "this is not TOML"),
        ('description = "d"\nartifacts = 3', 2, "this must be a list"),
        ('description = "d"\nenvironments = []', 2, "this must be a table"),
        ("a = " + "[" * 9000, 0, "nested too deeply"),
        ("", 0, "description: this key is missing"),
    ],
)
def test_a_recipe_that_is_not_valid_is_the_only_fault(tmp_path: Path, recipe: str, line: int, words: str) -> None:
    """Otherwise people hear of it only from the build, or it hides among the faults that it causes."""
    assert rules(tmp_path, recipe, "cpu") == {"recipe-unreadable"}
    (fault,) = [fault for fault in check([tmp_path], Destination()).faults if fault.rule == "recipe-unreadable"]
    assert fault.place.path.endswith("ensemble.toml") and fault.place.line == line and words in fault.message


def test_a_step_may_have_another_file_for_an_image_that_lacks_its_backend(tmp_path: Path) -> None:
    """Otherwise `build --image 25.04` refuses an ensemble that the build adapts to that image."""
    image = Destination("gpu", "ml.g5.xlarge", "25.04")
    for recipe, refused in ((RECIPE.replace("model.onnx", "model.graphdef"), True), (RECIPE, False)):
        project(tmp_path, python_model(backend='platform: "tensorflow_graphdef"'), recipe)
        assert ("image-backend" in {fault.rule for fault in check([tmp_path], image).faults}) == refused


def test_what_the_build_leaves_out_is_said(tmp_path: Path) -> None:
    """Otherwise the archive lacks a step, and check says 'no faults'. Folders that are no models do no harm here."""
    for folder in (".git", "notes", "__pycache__"):
        (tmp_path / "mine" / folder).mkdir(parents=True)
    assert rules(tmp_path, RECIPE) == set()
    config = tmp_path / "mine" / "scale" / "config.pbtxt"
    config.rename(config.with_name("kept.txt"))
    assert [fault.rule for fault in check([tmp_path]).faults] == ["step-not-a-model"]
    config.with_name("kept.txt").rename(config.with_name("Config.pbtxt"))
    assert [fault.rule for fault in check([tmp_path]).faults] == ["config-misnamed"]
