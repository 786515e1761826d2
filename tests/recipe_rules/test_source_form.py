"""Folders of ensembles/: the recipe, and the files that may be missing. cases/recipe-*.yaml have what fits a table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recipes import copy_recipe
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import IDENTITY, SCALE, ensemble, python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.server.home import find_home
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.pip_server import STUB_PYTHONS

RECIPE = copy_recipe("detect/1/model.onnx")
DETECT = python_model("instance_group [ { count: 1, kind: KIND_GPU } ]", backend='platform: "onnxruntime_onnx"')


def project(tmp_path: Path, recipe: str | None, detect: str = DETECT) -> Path:
    """The folder of an ensemble of one step, with another model beside it."""
    mine = tmp_path / "ensembles" / "mine"
    stage(Example(ensemble(SCALE)), mine, "ensemble")
    stage(Example(detect, {"labels.txt": "cat\n"}), mine, "detect")
    if recipe is not None:
        (mine / "ensemble.toml").write_text(recipe)
    return mine


def rules(mine: Path, *target: str) -> list[str]:
    return sorted(fault.rule for fault in check([mine], Destination(*target)).faults)


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (RECIPE, []),
        (None, ["instance-without-gpu", "version-not-available"]),
        (RECIPE.replace("detect/", "other/"), ["recipe-step-unknown", "version-not-available"]),
    ],
    ids=["made", "no recipe", "another step"],
)
def test_only_a_file_that_the_recipe_makes_may_be_missing(recipe: str | None, expected: object, tmp_path: Path) -> None:
    """Otherwise every fresh clone is full of faults, or a step passes although nothing makes its file."""
    assert rules(project(tmp_path, recipe), "cpu") == expected


def test_without_the_rules_about_recipes_a_folder_is_as_triton_reads_it(tmp_path: Path) -> None:
    """Otherwise the checker is of no use to those who build in another way."""
    script = "\n".join([
        "import sys",
        "from pathlib import Path",
        "from triton_ensembles.checking.extensions import EXTENSIONS",
        "EXTENSIONS.clear()",
        "from triton_ensembles.checking.checker import check",
        "print(*sorted(fault.rule for fault in check([Path(sys.argv[1])]).faults), *sys.modules)",
    ])  # fmt: skip
    mine = project(tmp_path, RECIPE)
    arguments = [sys.executable, "-c", script, str(mine)]
    words = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()
    assert words[0] == "version-not-available"
    assert not [word for word in words if word.startswith("triton_ensembles.project")]


def test_a_step_may_have_another_file_for_an_image_that_lacks_its_backend(tmp_path: Path) -> None:
    """Otherwise `build --image 25.04` refuses an ensemble that the build adapts to that image."""
    for recipe, refused in ((RECIPE.replace("model.onnx", "model.graphdef"), True), (RECIPE, False)):
        mine = project(tmp_path, recipe, python_model(backend='platform: "tensorflow_graphdef"'))
        assert ("image-backend" in rules(mine, "gpu", "ml.g5.xlarge", "25.04")) == refused


def test_a_recipe_longer_than_any_is_not_read(tmp_path: Path) -> None:
    """Otherwise check reads on, for as long as the file is."""
    assert rules(project(tmp_path, "# long\n" * 100_000)) == ["recipe-unreadable"]


def test_an_ensemble_has_nothing_that_no_archive_can_hold(tmp_path: Path) -> None:
    """Otherwise the build refuses it, or leaves out what a link leads to."""
    mine = project(tmp_path, RECIPE)
    version = mine / "scale" / "1"
    (version / "weights.bin").symlink_to(tmp_path / "not there")
    (version / "shared").symlink_to(tmp_path)
    os.mkfifo(version / "pipe")
    (version / ".#model.py").symlink_to("me@here.1")  # as an editor locks a file
    (mine / "ensemble" / "examples").symlink_to(tmp_path)
    assert [rule for rule in rules(mine) if rule.startswith("recipe")] == ["recipe-link"] * 3


def test_a_step_imports_what_its_environment_in_the_recipe_may_have(tmp_path: Path) -> None:
    """Otherwise the build makes an archive that cannot load."""
    mine = project(tmp_path, RECIPE)
    (mine / "scale" / "1" / "model.py").write_text(f"import sklearn\n{IDENTITY}")
    assert "import-missing" in rules(mine)
    (mine / "ensemble.toml").write_text(f'{RECIPE}[environments.x]\nfile = "envs/x.yml"\nsteps = ["scale"]\n')
    assert "import-missing" not in rules(mine)


def test_the_stubs_are_those_that_a_recipe_may_ask_for() -> None:
    """Otherwise a build of minutes ends in: Triton has no stub for Python 3.7; or one that Triton runs is refused."""
    stubs = find_home().stub("3.10").parents[1]
    assert {folder.name for folder in stubs.iterdir()} == set(STUB_PYTHONS)
