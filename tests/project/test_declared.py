"""Where the packages of a Python step are declared, and what of it pip is asked for."""

from pathlib import Path

import pytest

from tests.files import write_files
from triton_ensembles.project.declared import Asked, packages_for

IMAGE = "nvcr.io/nvidia/tritonserver"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A git repository, so that nothing above it counts."""
    for folder in (".git", "models/step/1", "models/other/1"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


ALL = {
    "models/step/1/requirements.txt": "a",
    "models/step/requirements.txt": "b",
    "models/requirements.txt": "c",
    "requirements.txt": "d",
    "environment.yml": "dependencies: [e, {pip: [f]}]",
    "Dockerfile": f"ARG TAG=24.09-py3\nFROM {IMAGE}:${{TAG}}\nRUN pip install g\n",
    "pyproject.toml": '[project]\ndependencies = ["h"]',
}


@pytest.mark.parametrize(
    ("gone", "packages", "place"),
    [
        (0, {"a", "b"}, "requirements.txt"),
        (2, {"c"}, "models/requirements.txt"),
        (3, {"d"}, "requirements.txt"),
        (4, {"e", "f"}, "environment.yml"),
        (5, {"g"}, "Dockerfile:2"),
        (6, {"h"}, "pyproject.toml"),
        (7, None, ""),
    ],
)
def test_the_nearest_counts(
    gone: int, packages: set[str] | None, place: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    write_files(root, dict(list(ALL.items())[gone:]))
    for path in (Path("models/step"), root / "models" / "other" / ".." / "step"):
        found = packages_for(path)
        assert (found and set(found.packages)) == packages
        assert found is None or found.place.endswith(place)


def test_another_step_has_what_is_declared_for_all(root: Path) -> None:
    write_files(root, ALL)
    found = packages_for(root / "models" / "other")
    assert found and found.packages == {"c"}


def test_a_file_of_pip_is_read_as_pip_reads_it(root: Path) -> None:
    write_files(
        root,
        {
            "models/requirements.txt": """\
                --extra-index-url https://example.com/simple  # ours
                -i https://example.com/main
                --find-links ../wheels
                -r more/of-it.txt
                -c limits.txt
                Pandas[excel] == 2.2.3 ; python_version >= "3.9"
                torch @ https://example.com/torch-2.0-cp310-cp310-linux_x86_64.whl
                ours-1.0-py3-none-any.whl
                -e ../src
            """,
            "models/more/of-it.txt": "scikit_learn>=1.4 \\\n  --hash=sha256:00\n",
            "models/limits.txt": "scipy<1.15\n",
            "models/ours-1.0-py3-none-any.whl": "",
            "wheels/x": "",
        },
    )
    found = packages_for(root / "models" / "step")
    assert found
    asked = found.asked
    assert asked.options == [
        "--extra-index-url=https://example.com/simple",
        "--index-url=https://example.com/main",
        f"--find-links={root / 'wheels'}",
    ]
    assert asked.texts == [
        "scikit_learn>=1.4",
        'Pandas[excel] == 2.2.3 ; python_version >= "3.9"',
        "torch @ https://example.com/torch-2.0-cp310-cp310-linux_x86_64.whl",
        f"ours @ {(root / 'models/ours-1.0-py3-none-any.whl').as_uri()}",
    ]
    assert asked.constraints == ["scipy<1.15"] and found.packages == {"scikit-learn", "pandas", "torch", "ours"}
    assert found.unread == "-e ../src" and [file.name for file in asked.files] == [
        "requirements.txt",
        "of-it.txt",
        "limits.txt",
    ]


def test_an_environment_file_may_name_indexes(root: Path) -> None:
    pip = "[python=3.10, pandas=2.2, {pip: ['--extra-index-url https://example.com/x', 'torch==2.4']}]"
    write_files(root, {"models/environment.yaml": f"dependencies: {pip}"})
    found = packages_for(root / "models" / "step")
    assert found and found.asked.options == ["--extra-index-url=https://example.com/x"]
    assert found.asked.texts == ["pandas==2.2.*", "torch==2.4"]


def test_what_cannot_be_read_may_be_anything(root: Path) -> None:
    """Otherwise a broken file is an error about each import."""
    write_files(root, {"environment.yml": "dependencies: ["})
    found = packages_for(root / "models" / "step")
    assert found and not found.packages and "YAML" in found.unread


def test_a_command_line_replaces_the_files_and_adds_packages(root: Path) -> None:
    write_files(root, ALL | {"mine.txt": "m"})
    found, mine = packages_for(root / "models" / "step"), root / "mine.txt"
    assert Asked().of(found) is found
    for asked, packages in (
        (Asked((mine,)), {"m"}),
        (Asked((), ("w==1",)), {"a", "b", "w"}),
        (Asked((mine,), ("w",)), {"m", "w"}),
    ):
        made = asked.of(found)
        assert made and made.packages == packages
    assert found and found.packages == {"a", "b"}
