"""Recipes that the schema accepts and the build does not: check says so first."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_ensembles.check import check
from triton_ensembles.check.examples import SCALE, ensemble
from triton_ensembles.check.rule import Example
from triton_ensembles.check.staging_example import stage
from triton_ensembles.triton.home import STUB_PYTHONS, find_home

RECIPE = f"""\
description = "An example"

[sources.weights]
from = [{{ url = "https://example.com/" }}]
files = {{ "labels.txt" = "{"0" * 64}" }}

[[artifacts]]
path = "scale/labels.txt"
maker = "copy"
source = "weights"
reads = ["pipelines/mine.py"]

[environments.processing]
file = "envs/processing.yml"
steps = ["scale"]
"""
ENVIRONMENT = "name: x\nchannels: [conda-forge]\ndependencies: [python=3.10, numpy==1.26.4]\n"


def project(folder: Path, recipe: str, environment: str = ENVIRONMENT) -> Path:
    mine = folder / "ensembles" / "mine"
    stage(Example(ensemble(SCALE)), mine, "ensemble")
    for path, text in {
        mine / "ensemble.toml": recipe,
        folder / "envs" / "processing.yml": environment,
        folder / "pipelines" / "mine.py": "",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return mine


def recipe_faults(folder: Path) -> list[tuple[str, int, str]]:
    found = check([folder]).faults
    return [(each.rule, each.place.line, each.cure) for each in found if each.rule.startswith("recipe")]


@pytest.mark.parametrize(
    ("old", "new", "rule", "line", "cure"),
    [
        ('steps = ["scale"]', 'steps = ["scal"]', "recipe-step-unknown", 15, "did you mean 'scale'?"),
        ("scale/labels.txt", "scales/labels.txt", "recipe-step-unknown", 8, "did you mean 'scale'?"),
        ("envs/processing.yml", "envs/procesing.yml", "recipe-file-missing", 14, "did you mean 'processing.yml'?"),
        ("pipelines/mine.py", "pipelines/other.py", "recipe-file-missing", 11, "relative to the project"),
        ('source = "weights"\n', "", "recipe-source-unused", 3, 'write source = "weights" into'),
        ("maker =", "makr =", "recipe-unreadable", 9, ""),
    ],
)
def test_what_the_build_refuses_is_a_fault(old: str, new: str, rule: str, line: int, cure: str, tmp_path: Path) -> None:
    """Otherwise check says 'no faults', and the build ends in an error."""
    assert recipe_faults(project(tmp_path / "good", RECIPE)) == []
    ((found, at, cured),) = recipe_faults(project(tmp_path / "bad", RECIPE.replace(old, new, 1)))
    assert (found, at) == (rule, line) and cure in cured


def test_an_environment_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    found = recipe_faults(project(tmp_path, RECIPE, "dependencies: {\n"))
    assert [rule for rule, *_ in found] == ["recipe-environment-file"]


@pytest.mark.parametrize(
    ("python", "rules"), [("3.7", ["recipe-environment-python"]), ("3.14", ["recipe-environment-python"]), ("3.13", [])]
)
def test_an_environment_file_for_a_python_without_a_stub_is_a_fault(
    python: str, rules: list[str], tmp_path: Path
) -> None:
    """Otherwise the build refuses it after minutes, or silently takes another Python."""
    found = recipe_faults(project(tmp_path, RECIPE, ENVIRONMENT.replace("3.10", python)))
    assert [rule for rule, *_ in found] == rules


def test_the_pythons_with_a_stub_are_those_of_the_wheel() -> None:
    """Otherwise check refuses a Python that works, or passes one that does not."""
    folder = find_home().stub("3.10").parents[1]
    assert {each.name for each in folder.iterdir()} == set(STUB_PYTHONS)
