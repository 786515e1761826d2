"""The command `check`: what it prints, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triton_ensembles.check.examples import ensemble, python_model, step
from triton_ensembles.check.rule import Example
from triton_ensembles.check.staging_example import stage
from triton_ensembles.commands.check import check_command
from triton_ensembles.paths import ENSEMBLES


def run(*arguments: object) -> Result:
    return CliRunner().invoke(check_command, [str(argument) for argument in arguments])


def test_the_ensembles_of_this_project_have_no_fault() -> None:
    """If this fails, so does the build."""
    result = run()
    assert result.exit_code == 0, result.output
    repositories = len([path for path in ENSEMBLES.iterdir() if (path / "ensemble.toml").is_file()])
    assert f"in {repositories} repositories" in result.output


def test_a_fault_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, editors cannot jump to the line, or people are not told what to write."""
    monkeypatch.chdir(tmp_path)
    stage(Example(python_model(size=-1)), tmp_path / "models", "scale")
    result = run("models")
    lines = result.output.splitlines()
    assert result.exit_code == 1
    assert lines[0] == "models/scale/config.pbtxt:2:17: error[max-batch-size-negative]: max_batch_size is -1"
    assert lines[1].startswith("    Triton refuses it: 'max_batch_size' must be non-negative value")
    assert lines[2] == "    cure: write max_batch_size: 0 for a model that does not batch"
    assert lines[3].startswith("1 error in 1 repository (")


def test_a_fault_as_json(tmp_path: Path) -> None:
    """If this fails, programs that read the faults break."""
    stage(Example(python_model(size=-1)), tmp_path, "scale")
    data = json.loads(run(tmp_path, "--format", "json").output)
    assert (data["errors"], data["repositories"]) == (1, 1)
    (fault,) = data["faults"]
    assert (fault["rule"], fault["severity"], fault["line"], fault["column"]) == (
        "max-batch-size-negative", "error", 2, 17,
    )  # fmt: skip


def test_a_fault_for_github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, GitHub shows nothing beside the line."""
    monkeypatch.chdir(tmp_path)
    stage(Example(python_model(size=-1)), tmp_path / "models", "scale")
    line = run("models", "--format", "github").output.splitlines()[0]
    assert line.startswith(
        "::error file=models/scale/config.pbtxt,line=2,col=17,title=max-batch-size-negative::max_batch_size is -1%0A"
    )


def test_warnings_alone_exit_0(tmp_path: Path) -> None:
    """If this fails, a warning stops a build."""
    stage(Example(python_model("version_policy { specific { versions: [ 1, 2 ] } }")), tmp_path, "scale")
    result = run(tmp_path)
    assert result.exit_code == 0
    assert "warning[version-missing]" in result.output


def test_a_newer_image_knows_newer_fields(tmp_path: Path) -> None:
    """If this fails, --image changes nothing."""
    config = ensemble(step("scale", {"X": "X"}, {"Y": "Y"})).replace("  step [", "  max_inflight_requests: 4\n  step [")
    stage(Example(config), tmp_path, "pipeline")
    assert "error[config-field-too-new]" in run(tmp_path).output
    assert "config-field-too-new" not in run(tmp_path, "--image", "25.12").output


@pytest.mark.parametrize("arguments", [["missing"], ["--target", "tpu"], ["--format", "xml"]])
def test_wrong_usage_exits_2(arguments: list[str]) -> None:
    """If this fails, a script takes a misspelt path for a clean one."""
    assert run(*arguments).exit_code == 2


def test_an_empty_folder_is_wrong_usage(tmp_path: Path) -> None:
    """If this fails, a folder without models passes."""
    result = run(tmp_path)
    assert result.exit_code == 2 and "there is no model here" in result.output
