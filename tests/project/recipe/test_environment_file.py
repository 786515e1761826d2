"""Environment files: what they mean to pip, and hostile ones.

What may be wrong in one is in a table of cases, tests/checking/cases/recipe-environment-file.yaml.
"""

import os
from pathlib import Path

import pytest

from tests.environment_files import WriteFile
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.environment_file import read_environment_file


@pytest.mark.parametrize(
    ("written", "for_pip"),
    [
        ("numpy", "numpy"),
        ("numpy=2.4", "numpy==2.4.*"),
        ("numpy=2.4.*", "numpy==2.4.*"),
        ("numpy==2.4.6", "numpy==2.4.6"),
        ("numpy 2.4.6", "numpy==2.4.6"),
        ("numpy=2.4.6=py311_0", "numpy==2.4.6.*"),
        ("numpy >=1.26,<3", "numpy>=1.26,<3"),
        ("numpy!=2.0", "numpy!=2.0"),
        ("conda-forge::scikit-learn=1.5", "scikit-learn==1.5.*"),
    ],
)
def test_a_conda_spec_means_the_same_to_pip(environment_file: WriteFile, written: str, for_pip: str) -> None:
    spec = environment_file(f"dependencies:\n  - python=3.11\n  - {written}\n  - pip:\n    - idna==3.10\n")
    assert spec.pip_requirements == (for_pip, "idna==3.10")
    assert spec.conda_specs == ("python=3.11", written)


@pytest.mark.parametrize("written", ["python", "python=3.12", "python==3.12.1", "python 3.12.*", "python=3.12.*"])
def test_python_is_one_minor_version_or_left_open(environment_file: WriteFile, written: str) -> None:
    assert environment_file(f"dependencies: ['{written}']").python == (None if written == "python" else "3.12")


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, "&a [*a]", "dependencies: &x\n  - pip: *x\n", f"name: {'x' * 300_000}", "- '" + "\\0" * 9,
     f'dependencies:\n  - pip:\n    - "a; {"(" * 5000}"\n', None],
    ids=["deep", "alias", "alias of pip", "long", "not closed", "deep marker", "pipe"],
)  # fmt: skip
def test_a_hostile_file_is_refused_in_a_line(content: str | None, tmp_path: Path) -> None:
    """Otherwise a build hangs, or ends in a traceback."""
    path = tmp_path / "environment.yml"
    if content is None:
        os.mkfifo(path)
    else:
        path.write_text(content)
    with pytest.raises(EnsembleError) as refused:
        read_environment_file(path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 5000
