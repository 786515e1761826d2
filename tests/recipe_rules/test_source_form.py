"""Folders of ensembles/ that no table of cases can hold; cases/recipe-*.yaml have the others."""

import os
import subprocess
import sys
from pathlib import Path

from tests.checking.packing import python_step
from tests.commands.projects import write_ensemble
from tests.files import write_files
from triton_ensembles.checking.checker import check
from triton_ensembles.server.home import find_home
from triton_ensembles.triton.pip_server import STUB_PYTHONS


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
    mine = write_ensemble(tmp_path, "mine").parents[1]
    write_files(mine, {"other/config.pbtxt": python_step(), "ensemble.toml": "x = 1"})
    arguments = [sys.executable, "-c", script, str(mine)]
    words = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()
    assert words[0] == "version-not-available"
    assert not [word for word in words if word.startswith(("triton_ensembles.project", "recipe-"))]


def test_an_ensemble_has_nothing_that_no_archive_can_hold(tmp_path: Path) -> None:
    """Otherwise the build refuses it, or leaves out what a link leads to."""
    examples = write_ensemble(tmp_path, "mine")
    mine = examples.parents[1]
    version = mine / "double" / "1"
    (version / "weights.bin").symlink_to(tmp_path / "not there")
    (version / "shared").symlink_to(tmp_path)
    os.mkfifo(version / "pipe")
    (version / ".#model.py").symlink_to("me@here.1")  # as an editor locks a file
    examples.symlink_to(tmp_path)
    assert [fault.rule for fault in check([mine]).faults if fault.rule.startswith("recipe")] == ["recipe-link"] * 3


def test_the_stubs_are_those_that_a_recipe_may_ask_for() -> None:
    """Otherwise a build of minutes ends in: Triton has no stub for Python 3.7; or one that Triton runs is refused."""
    stubs = find_home().stub("3.10").parents[1]
    assert {folder.name for folder in stubs.iterdir()} == set(STUB_PYTHONS)
