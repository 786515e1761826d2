"""The defaults of [tool.triton-ensembles], where they are found, and what is refused in them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from triton_ensembles.commands.cli import main
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.settings import project_defaults
from triton_ensembles.triton.releases import releases


def write(folder: Path, *lines: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(["[project]", 'name = "x"', "[tool.triton-ensembles]", *lines, ""])
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_the_nearest_table_counts(tmp_path: Path) -> None:
    write(tmp_path, 'image = "24.05"', 'instance = "ml.m5.xlarge"')
    inner = write(tmp_path / "a" / "b", 'image = "24.09-py3"', 'target = "fused"')
    assert project_defaults(inner / "models") == {"image": "24.09-py3", "target": "fused"}
    assert project_defaults(tmp_path / "a") == {"image": "24.05", "instance": "ml.m5.xlarge"}


def test_newest_and_sagemaker_are_releases(tmp_path: Path) -> None:
    newest = project_defaults(write(tmp_path, 'image = "newest"'))["image"]
    hosted = project_defaults(write(tmp_path, 'image = "sagemaker"'))["image"]
    assert releases()[hosted].sagemaker == "yes" and newest >= hosted
    assert not [row for row in releases().values() if row.release > hosted and row.sagemaker == "yes"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('imag = "24.09"', "a key 'imag', which does not exist; did you mean 'image'?"),
        ('colour = "red"', "the keys are 'check', 'image', 'instance', 'project' or 'target'"),
        ("image = 24.09", "image must be a text"),
        ('image = "24.13"', "does not name a known release"),
        ('image = "newst"', "does not name a known release"),
        ('instance = "ml.m5"', "is a family, not an instance type"),
        ('target = "fusd"', "write 'fused'"),
    ],
)
def test_what_is_wrong_is_refused_by_file_and_line(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(EnsembleError) as refused:
        project_defaults(write(tmp_path, "", line))
    assert "pyproject.toml:5: " in str(refused.value) and words in str(refused.value)


@pytest.mark.parametrize("command", ["check", "serve", "endpoint", "build", "perf", "profile", "upload"])
def test_every_command_refuses_it_as_wrong_usage(tmp_path: Path, command: str) -> None:
    folder = write(tmp_path, 'target = "fusd"')
    (folder / "models").mkdir()
    result = CliRunner().invoke(main, [command, str(folder / "models")])
    assert result.exit_code == 2, result.output
