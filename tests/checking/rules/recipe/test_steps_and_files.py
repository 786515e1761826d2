"""Recipes that the schema accepts and the build does not: check says so first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.checking.packing import write_folder
from triton_ensembles.checking import check
from triton_ensembles.checking.examples import SCALE, ensemble
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.project.recipe.artifact_kinds import MAKERS, NEEDS
from triton_ensembles.triton.home import STUB_PYTHONS, find_home


def project(folder: Path, recipe: str) -> Path:
    mine = folder / "ensembles" / "mine"
    stage(Example(ensemble(SCALE)), mine, "ensemble")
    write_folder(mine, {"ensemble.toml": recipe})
    (folder / "envs").mkdir()
    return mine


def recipe_faults(folder: Path) -> list[tuple[str, int, str]]:
    faults = check([folder]).faults
    return [(fault.rule, fault.place.line, fault.cure) for fault in faults if fault.rule.startswith("recipe")]


def test_the_stubs_are_those_that_a_recipe_may_ask_for() -> None:
    """Otherwise a build of minutes ends in: Triton has no stub for Python 3.7; or one that Triton runs is refused."""
    stubs = find_home().stub("3.10").parents[1]
    assert {folder.name for folder in stubs.iterdir()} == set(STUB_PYTHONS)


def test_every_maker_says_what_it_reads() -> None:
    """Otherwise a recipe with that maker ends the check."""
    assert NEEDS.keys() == MAKERS.keys()


def test_a_recipe_longer_than_any_is_not_read(tmp_path: Path) -> None:
    """Otherwise check reads on, for as long as the file is."""
    assert [rule for rule, *_ in recipe_faults(project(tmp_path, "# long\n" * 100_000))] == ["recipe-unreadable"]


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
