"""Environment files of a recipe: what the build would refuse is a fault, and what it takes is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import write_folder
from tests.checking.rules.recipe.test_steps_and_files import RECIPE, project
from triton_ensembles.checking.checker import check
from triton_ensembles.triton.destination import Destination

HEAD = "name: x\nchannels: [conda-forge]\ndependencies:\n  - python=3.10\n"


@pytest.mark.parametrize(
    ("lines", "rule", "line"),
    [
        ("  - numpy==1.26.4\n", "", 0),
        ("  - numpy=1.26\n  - tokenizers==0.22.1\n", "", 0),
        ("  - pip:\n    - numpy==1.26.4\n", "", 0),
        ("  - numpy>=1.24\n  - pip:\n    - numpy<2\n", "", 0),
        ("", "environment-file-without-numpy", 0),
        ("  - pip:\n    - requests\n", "environment-file-without-numpy", 0),
        ("  - pandas==2.2.3\n", "environment-file-numpy-open", 0),
        ("  - numpy\n", "environment-file-numpy-open", 5),
        ("  - numpy>=1.24\n", "environment-file-numpy-open", 5),
        ("  - numpy>=2\n", "environment-file-numpy", 5),
        ("  - numpy=2.1\n", "environment-file-numpy", 5),
        ("  - pip:\n    - numpy==2.1.0\n", "environment-file-numpy", 6),
        ("  - numpy==1.26.4\n  - pip:\n    - numpy<1.25\n", "environment-file-versions", 5),
        ("  - numpy>1.26,<1.25\n", "environment-file-versions", 5),
        ("  - numpy==1.26.4\n  - pillow=10.4\n  - pip:\n    - Pillow==11.0.0\n", "environment-file-versions", 6),
        ("  - numpy==1.26.4\n  - pytorch=2.4\n", "environment-file-of-conda", 6),
    ],
)
def test_what_an_environment_file_asks_for(lines: str, rule: str, line: int, tmp_path: Path) -> None:
    """Otherwise "no faults" is said where the build refuses the file, or a good file is refused."""
    faults = check([project(tmp_path, RECIPE, HEAD + lines)], Destination(image="24.09")).faults
    found = [each for each in faults if each.rule.startswith("environment-file")]
    assert [(each.rule, each.place.line) for each in found] == ([(rule, line)] if rule else [])


def test_a_lock_says_which_numpy_it_is(tmp_path: Path) -> None:
    """Otherwise a file is reported whose packages are already known to be good."""
    folder = project(tmp_path, RECIPE, HEAD + "  - pandas==2.2.3\n")
    asked = "# The packages\n#   python=3.10\n#   pandas==2.2.3\n"
    lock = asked + "numpy==1.26.4 --hash=sha256:0\npandas==2.2.3 --hash=sha256:0\n"
    write_folder(folder, {"locks/processing-python3.10.lock": lock})
    assert not [each for each in check([folder]).faults if each.rule.startswith("environment-file")]


def test_wheels_need_no_numpy(tmp_path: Path) -> None:
    """Otherwise a file is refused whose steps get the numpy of the server's Python."""
    folder = project(tmp_path, RECIPE + 'kind = "wheels"\n', HEAD + "  - tokenizers==0.22.1\n")
    assert not [each for each in check([folder]).faults if each.rule.startswith("environment-file")]


def test_a_package_that_the_recipe_leaves_out(tmp_path: Path) -> None:
    """Otherwise the build fails at its end: nothing is left of the package."""
    recipe = RECIPE + 'exclude = ["*/site-packages/tokenizers/*"]\n'
    folder = project(tmp_path, recipe, HEAD + "  - numpy==1.26.4\n  - tokenizers==0.22.1\n")
    (found,) = (each for each in check([folder]).faults if each.rule.startswith("environment-file"))
    assert (found.rule, found.place.line) == ("environment-file-excluded", 6)
