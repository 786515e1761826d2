"""One ensemble that fails does not stop the others."""

from pathlib import Path

import pytest

from tests.commands.projects import run_in
from tests.project.test_location import write_ensemble


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """``faulty`` has a fault, ``unread`` a recipe that is not TOML, and ``whole`` nothing."""
    for name in ("faulty", "unread", "whole"):
        write_ensemble(tmp_path, name)
    config = tmp_path / "ensembles" / "faulty" / "ensemble" / "config.pbtxt"
    config.write_text(config.read_text().replace('model_name: "double"', 'model_name: "triple"'))
    (tmp_path / "ensembles" / "unread" / "ensemble.toml").write_text("description = \n")
    return tmp_path


def test_the_others_are_built_and_the_end_sums_up(project: Path) -> None:
    result = run_in(project, "build")
    assert result.exit_code == 1
    assert sorted(path.name for path in (project / "dist" / "cpu").iterdir()) == ["whole.tar.gz"]
    head, faulty, unread = result.stderr.strip().splitlines()[-3:]
    assert head == "error: 2 of 3 ensembles could not be built:"
    assert faulty.startswith("  faulty: faulty has faults, so nothing was built: ") and "triple" in faulty
    assert unread.startswith("  unread: ") and "ensemble.toml:1: error[recipe-unreadable]: this is not TOML" in unread


@pytest.mark.parametrize("command", ["serve", "demo", "perf"])
def test_nothing_is_served_with_a_part_missing(project: Path, command: str) -> None:
    """Otherwise a test against the server finds out later, and less clearly."""
    result = run_in(project, command)
    assert result.exit_code == 1
    assert "2 of 3 ensembles could not be built" in result.stderr
    assert "starting tritonserver" not in result.output
    assert (project / "dist" / "cpu" / "whole.tar.gz").is_file()


def test_a_bad_recipe_does_not_end_the_list(project: Path) -> None:
    result = run_in(project, "list")
    assert result.exit_code == 1
    assert "unread/ensemble.toml:1: this is not TOML" in result.stdout
    assert "\nwhole  Four numbers" in result.stdout
    assert result.stderr.startswith("error: 1 of 3 ensembles cannot be read:\n  unread: ")


def test_a_bad_ensemble_does_not_end_a_comparison(project: Path) -> None:
    result = run_in(project, "diff", "cpu", "fused")
    assert result.exit_code == 1
    assert "this is not TOML" in result.stdout
    assert "+whole/1/plan.json" in result.stdout
    assert result.stderr.startswith("error: 2 of 3 ensembles cannot be compared:\n  faulty: ")
