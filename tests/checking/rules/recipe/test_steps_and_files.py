"""Recipes that the schema accepts and the build does not: check says so first."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.checking.packing import write_folder
from triton_ensembles.checking import check
from triton_ensembles.checking.examples import SCALE, ensemble
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.project.recipe.artifact_kinds import MAKERS, NEEDS
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
file = "labels.txt"
reads = ["pipelines/mine.py"]

[environments.processing]
file = "envs/processing.yml"
steps = ["scale"]
"""
ENVIRONMENT = "name: x\nchannels: [conda-forge]\ndependencies: [python=3.10, numpy==1.26.4]\n"


def project(folder: Path, recipe: str, environment: str = ENVIRONMENT) -> Path:
    mine = folder / "ensembles" / "mine"
    stage(Example(ensemble(SCALE)), mine, "ensemble")
    files = {"ensembles/mine/ensemble.toml": recipe, "envs/processing.yml": environment, "pipelines/mine.py": ""}
    write_folder(folder, files)
    return mine


def recipe_faults(folder: Path) -> list[tuple[str, int, str]]:
    faults = check([folder]).faults
    return [(fault.rule, fault.place.line, fault.cure) for fault in faults if fault.rule.startswith("recipe")]


@pytest.mark.parametrize(
    ("old", "new", "rule", "line", "cure"),
    [
        ('steps = ["scale"]', 'steps = ["scal"]', "recipe-step-unknown", 16, "did you mean 'scale'?"),
        ("scale/labels.txt", "scales/labels.txt", "recipe-step-unknown", 8, "did you mean 'scale'?"),
        ("envs/processing.yml", "envs/procesing.yml", "recipe-file-missing", 15, "did you mean 'processing.yml'?"),
        ("pipelines/mine.py", "pipelines/other.py", "recipe-file-missing", 12, "relative to the project"),
        ("0" * 64, "0f3", "recipe-unreadable", 5, "The sha256 of each file"),
        ('description = "An example"\n', "", "recipe-unreadable", 0, "add it. A line about the ensemble"),
        ('maker = "copy"', 'maker = "copi"', "recipe-unreadable", 9, "did you mean 'copy'?"),
        ('file = "labels.txt"', 'file = "label.txt"', "recipe-unreadable", 11, "did you mean 'labels.txt'?"),
        ('["scale"]', '["scale"]\nkind = "wheel"', "recipe-unreadable", 17, "did you mean 'wheels'?"),
        ('file = "labels.txt"\n', "", "recipe-maker-files", 8, 'write file = "labels.txt"'),
        ('maker = "copy"', 'maker = "copy"\noptions.seed = 1', "recipe-maker-options", 10, "delete it"),
        ('maker = "copy"', 'maker = "member"', "recipe-maker-options", 8, "write options = { member = … }"),
        ('maker = "copy"', 'maker = "member"\noptions.membr = "x"', "recipe-maker-options", 10, "'member'?"),
        ("scale/labels.txt", "scale/config.pbtxt", "recipe-artifact-path", 8, "give it another path"),
        ("scale/labels.txt", "scale", "recipe-artifact-path", 8, ""),
        ('["scale"]', '["ensemble"]', "recipe-environment-step", 16, "name the Python steps only"),
    ],
)
def test_what_the_build_refuses_is_a_fault(old: str, new: str, rule: str, line: int, cure: str, tmp_path: Path) -> None:
    """Otherwise check says 'no faults', and the build ends in an error."""
    assert recipe_faults(project(tmp_path / "good", RECIPE)) == []
    ((found, at, cured),) = recipe_faults(project(tmp_path / "bad", RECIPE.replace(old, new, 1)))
    assert (found, at) == (rule, line) and cure in cured


def test_a_python_that_no_stub_exists_for_is_a_fault(tmp_path: Path) -> None:
    """Otherwise a build of minutes ends in: Triton has no stub for Python 3.7; or one that Triton runs is refused."""
    found = recipe_faults(project(tmp_path, RECIPE, ENVIRONMENT.replace("3.10", "3.7")))
    assert [(rule, line) for rule, line, _ in found] == [("recipe-environment-python", 3)]
    stubs = find_home().stub("3.10").parents[1]
    assert {folder.name for folder in stubs.iterdir()} == set(STUB_PYTHONS)


def test_every_fault_of_a_recipe_is_named_at_once(tmp_path: Path) -> None:
    """Otherwise people fix one key only to hear of the next."""
    recipe = RECIPE.replace("maker =", "makr =").replace("steps =", "step =").replace("0" * 64, "0" * 63)
    assert [line for _, line, _ in recipe_faults(project(tmp_path, recipe))] == [5, 9, 16]


def test_a_pipeline_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    pipeline = 'maker = "dali_pipeline"\noptions = { pipeline = "pipelines/other.py" }\nreads = ["pipelines/mine.py"]'
    recipe = re.sub(r'maker = "copy"\n(.*\n){3}', f"{pipeline}\n", RECIPE)
    bad, good = project(tmp_path, recipe), project(tmp_path / "good", recipe.replace("other.py", "mine.py"))
    assert [rule for rule, *_ in recipe_faults(bad)] == ["recipe-source-unused", "recipe-maker-files"]
    assert [rule for rule, *_ in recipe_faults(good)] == ["recipe-source-unused"]


def test_every_maker_says_what_it_reads() -> None:
    """Otherwise a recipe with that maker ends the check."""
    assert NEEDS.keys() == MAKERS.keys()


LABELS = '[[artifacts]]\npath = "scale/1/x"\nmaker = "numbered_labels"\noptions = { count = 3 }\n'


@pytest.mark.parametrize(
    ("recipe", "rule", "line"),
    [
        (LABELS.replace("= 3", '= "three"'), "recipe-maker-options", 5),
        (LABELS.replace("scale/1/x", "scale/1/model.py/x"), "recipe-artifact-path", 3),
        (LABELS + LABELS.replace("/1/x", "/./1//x"), "recipe-artifact-path", 3),
        (LABELS + LABELS.replace("/1/x", "/1/x/y"), "recipe-artifact-path", 3),
        (LABELS.replace("1/x", "1/" + "x" * 256), "recipe-unreadable", 3),
        (LABELS.replace("1/x", "2/x"), "model-file-missing", 0),
        ('[parameters.scale]\nFORCE_CPU_ONLY_INPUT_TENSORS = "maybe"\n', "force-cpu-only-value", 3),
        ("# long\n" * 100_000, "recipe-unreadable", 0),
        ('[sources."../x"]\nfrom = [{ url = "https://x/" }]\nfiles = {}\n', "recipe-unreadable", 2),
        ('[sources.x]\nfrom = [{ url = "http://x:99999/" }]\nfiles = {}\n', "recipe-unreadable", 3),
    ],
)
def test_what_the_build_would_stop_at_later_is_a_fault(recipe: str, rule: str, line: int, tmp_path: Path) -> None:
    """Otherwise check says 'no faults', and the build ends in an error, or writes into its own store."""
    faults = check([project(tmp_path, f'description = "An example"\n{recipe}')]).faults
    assert (rule, line) in [(fault.rule, fault.place.line) for fault in faults]


def test_a_folder_has_one_ensemble_and_nothing_that_no_archive_can_hold(tmp_path: Path) -> None:
    """Otherwise the build refuses it, or leaves out what a link leads to."""
    mine = project(tmp_path, 'description = "An example"\n')
    shutil.copytree(mine / "ensemble", mine / "outer")
    (mine / "scale" / "1" / "weights.bin").symlink_to(tmp_path / "not there")
    (mine / "scale" / "1" / "shared").symlink_to(tmp_path / "envs")
    os.mkfifo(mine / "scale" / "1" / "pipe")
    (mine / "scale" / "1" / ".#model.py").symlink_to("me@here.1")  # as an editor locks a file
    (mine / "ensemble" / "examples").symlink_to(tmp_path / "envs")
    lock = f"# Asked for:\n\nalpha==1.0 --hash=sha256:{'0' * 64}\n<<<<<<< HEAD\n"
    write_folder(mine, {"locks/x-python3.11.lock": lock})
    found = [(rule, line) for rule, line, _ in recipe_faults(mine)]
    assert sorted(found) == [("recipe-ensemble", 0), *[("recipe-link", 0)] * 3, ("recipe-lock", 4)]


def test_a_version_that_only_conda_reads_is_a_fault_of_wheels(tmp_path: Path) -> None:
    """Otherwise the build ends in a traceback of packaging's."""
    mine = project(tmp_path, f'{RECIPE}kind = "wheels"\n', "dependencies:\n  - openssl=1.1.1w\n")
    assert [(rule, line) for rule, line, _ in recipe_faults(mine)] == [("recipe-environment-file", 2)]
    (mine / "ensemble.toml").write_text(RECIPE)
    assert recipe_faults(mine) == []


def test_files_that_only_this_machine_could_have_are_missed(tmp_path: Path) -> None:
    """Otherwise a misspelled path is known when the build takes random weights."""
    recipe = RECIPE.replace('{ url = "https://example.com/" }', '{ path = "weights" }, { path = "~nobody-here/x" }')
    mine = project(tmp_path, recipe)
    ((rule, line, cure),) = recipe_faults(mine)
    assert (rule, line) == ("recipe-source-missing", 5) and "relative to the project" in cure
    write_folder(tmp_path, {"weights/labels.txt": "any: the build compares the sha256"})
    assert recipe_faults(mine) == []
    (mine / "ensemble.toml").write_text(recipe.replace('"weights" },', '"nowhere" }, { url = "s3://bucket/" },'))
    assert recipe_faults(mine) == []
