"""Progress goes to stderr and results to stdout, which takes one JSON document if it is asked for. One ensemble that
fails does not stop the others."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.projects import run_in, write_ensemble, write_faulty


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """``faulty`` has a fault, ``unread`` a recipe that is not TOML, and ``whole`` nothing."""
    write_faulty(tmp_path)
    for name in ("unread", "whole"):
        write_ensemble(tmp_path, name)
    (tmp_path / "ensembles" / "unread" / "ensemble.toml").write_text("description = \n")
    return tmp_path


def document(project: Path, *words: str) -> Any:
    """The one document on stdout of a command that fails, as scripts read it."""
    result = run_in(project, *words, "--format", "json")
    assert result.exit_code in (1, 2)
    return json.loads(result.stdout)


def test_progress_is_on_stderr_and_can_be_left_out(project: Path) -> None:
    (line,) = run_in(project, "build", "whole").stdout.splitlines()
    assert line.startswith(str(project / "dist" / "cpu" / "whole.tar.gz"))
    (project / "ensembles" / "unread" / "ensemble.toml").write_text('description = "one"')
    assert run_in(project, "build", "unread", "--quiet").stderr == ""


def test_the_others_are_built_and_the_end_sums_up(project: Path) -> None:
    result = run_in(project, "build", "--format", "json")
    assert result.exit_code == 1
    assert sorted(path.name for path in (project / "dist" / "cpu").iterdir()) == ["whole.tar.gz"]
    head, faulty, unread = result.stderr.strip().splitlines()[-3:]
    assert head == "error: 2 of 3 ensembles could not be built:"
    assert faulty.startswith("  faulty: faulty has faults, so nothing was built: ") and "triple" in faulty
    assert unread.startswith("  unread: ") and "ensemble.toml:1: error[recipe-unreadable]: this is not TOML" in unread
    built = json.loads(result.stdout)
    (archive,), (_, failed) = built["archives"], built["failed"]
    assert sorted(archive) == ["archive", "changed", "name", "sha256", "size", "weights"]
    assert (archive["name"], archive["changed"]) == ("whole", True)
    assert failed["name"] == "unread" and "not TOML" in failed["error"]

    _, unread, whole = document(project, "list")["ensembles"]
    assert whole["steps"] == ["double (python)"]
    assert whole["archive"]["sha256"] == archive["sha256"]
    assert "not TOML" in unread["error"]


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
    compared = document(project, "diff", "cpu", "fused")
    assert set(compared["servers"]["server"]) == {"before", "after"}
    assert any(line.startswith("+whole/1/plan.json") for line in compared["ensembles"][-1]["diff"])


def test_a_command_that_fails_as_a_whole_prints_one_document_too(project: Path) -> None:
    """Otherwise a script that reads JSON sees nothing, and must read the words on stderr."""
    assert "there is no ensemble 'nope'" in document(project, "build", "nope")["error"]
    assert "both targets are cpu" in document(project, "diff", "cpu", "cpu")["error"]
    assert "not TOML" in document(project, "build", "unread")["failed"][0]["error"]
