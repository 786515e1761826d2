"""Environment files of a recipe: what the build would refuse is a fault, and what it takes is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import write_folder
from tests.checking.rules.recipe.test_steps_and_files import RECIPE, project
from triton_ensembles.checking.checker import check
from triton_ensembles.triton.destination import Destination

HEAD = "name: x\nchannels: [conda-forge]\ndependencies:\n  - python=3.10\n"
EXCLUDED = 'exclude = ["*/site-packages/tokenizers/*"]\n'


@pytest.mark.parametrize(
    ("lines", "rule", "line", "recipe"),
    [
        ("  - numpy==1.26.4\n", "", 0, ""),
        ("  - numpy=1.26\n  - tokenizers==0.22.1\n", "", 0, ""),
        ("  - pip:\n    - numpy==1.26.4\n", "", 0, ""),
        ("  - numpy>=1.24\n  - pip:\n    - numpy<2\n", "", 0, ""),
        ("", "environment-file-without-numpy", 0, ""),
        ("  - pip:\n    - requests\n", "environment-file-without-numpy", 0, ""),
        ("  - pandas==2.2.3\n", "environment-file-numpy-open", 0, ""),
        ("  - numpy\n", "environment-file-numpy-open", 5, ""),
        ("  - numpy>=1.24\n", "environment-file-numpy-open", 5, ""),
        ("  - numpy>=2\n", "environment-file-numpy", 5, ""),
        ("  - numpy=2.1\n", "environment-file-numpy", 5, ""),
        ("  - pip:\n    - numpy==2.1.0\n", "environment-file-numpy", 6, ""),
        ("  - numpy==1.26.4\n  - pip:\n    - numpy<1.25\n", "environment-file-versions", 5, ""),
        ("  - numpy>1.26,<1.25\n", "environment-file-versions", 5, ""),
        ("  - numpy==1.26.4\n  - pillow=10.4\n  - pip:\n    - Pillow==11.0.0\n", "environment-file-versions", 6, ""),
        ("  - numpy==1.26.4\n  - pytorch=2.4\n", "environment-file-of-conda", 6, ""),
        ("  - tokenizers==0.22.1\n", "", 0, 'kind = "wheels"\n'),
        ("  - numpy==1.26.4\n  - tokenizers==0.22.1\n", "environment-file-excluded", 6, EXCLUDED),
    ],
)
def test_what_an_environment_file_asks_for(lines: str, rule: str, line: int, recipe: str, tmp_path: Path) -> None:
    """Otherwise "no faults" is said where the build refuses the file, or a good file is refused."""
    faults = check([project(tmp_path, RECIPE + recipe, HEAD + lines)], Destination(image="24.09")).faults
    found = [each for each in faults if each.rule.startswith("environment-file")]
    assert [(each.rule, each.place.line) for each in found] == ([(rule, line)] if rule else [])


def test_a_lock_says_which_numpy_it_is(tmp_path: Path) -> None:
    """Otherwise a file is reported whose packages are already known to be good."""
    folder = project(tmp_path, RECIPE, HEAD + "  - pandas==2.2.3\n")
    asked = "# The packages\n#   python=3.10\n#   pandas==2.2.3\n"
    lock = asked + "numpy==1.26.4 --hash=sha256:0\npandas==2.2.3 --hash=sha256:0\n"
    write_folder(folder, {"locks/processing-python3.10.lock": lock})
    assert not [each for each in check([folder]).faults if each.rule.startswith("environment-file")]
