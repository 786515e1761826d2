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
    ("text", "line", "word"),
    [
        ("dependencies:\n  - numpy\n  - n*mpy\n", 3, "match specification"),
        ("dependencies:\n  - numpy\n  - numpy=2\n", 3, "twice"),
        ("dependencies:\n  - python>=3.9\n", 2, "one minor"),
        ("dependencies:\n  - pip:\n    - -e .\n", 3, "pip requirement"),
        (f'dependencies:\n  - pip:\n    - "a; {"(" * 5000}"\n', 3, "pip requirement"),
        ("dependencies:\n  - pip:\n    - a @ git+https://x.example/a\n", 3, "no digest can lock it"),
        ("dependencies:\n  - conda:\n    - x\n", 2, "pip:"),
        ("dependencies: numpy\n", 1, "list"),
        ("name: a\nprefix: /somewhere\ndependencies: []\n", 2, "prefix"),
        ("name: a\nname: b\ndependencies: []\n", 2, "twice"),
        ("name: a\n", 1, "no dependencies"),
        ("name: [\n", 2, "YAML"),
        ("- numpy\n", 1, "mapping"),
        ("", None, "mapping"),
    ],
)
def test_a_fault_is_reported_with_its_line(environment_file: WriteFile, text: str, line: int | None, word: str) -> None:
    with pytest.raises(EnsembleError, match=word) as caught:
        environment_file(text)
    assert caught.value.line == line
    assert caught.value.path is not None


def test_a_version_that_pip_cannot_read_is_reported_with_its_line(environment_file: WriteFile) -> None:
    spec = environment_file("dependencies:\n  - numpy\n  - openssl=1.1.1w\n")
    with pytest.raises(EnsembleError, match="pip cannot read") as caught:
        print(spec.pip_requirements)
    assert caught.value.line == 3


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match="no such environment file"):
        read_environment_file(tmp_path / "none.yml")


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, "&a [*a]", "dependencies: &x\n  - pip: *x\n", f"name: {'x' * 300_000}", "- '" + "\\0" * 9, None],
    ids=["deep", "alias", "alias of pip", "long", "not closed", "pipe"],
)
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
