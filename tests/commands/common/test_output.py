"""Progress goes to stderr and results to stdout, which takes one JSON document if it is asked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import Run
from tests.commands.projects import run_in
from tests.project.test_location import write_ensemble
from triton_ensembles.commands.invoke import invoke
from triton_ensembles.commands.status import status
from triton_ensembles.commands.upload import upload
from triton_ensembles.deploy.archives import Archive


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("doubler", "unread"):
        write_ensemble(tmp_path, name)
    (tmp_path / "ensembles" / "unread" / "ensemble.toml").write_text("description = \n")
    return tmp_path


def document(project: Path, *words: str) -> Any:
    """The one document on stdout."""
    return json.loads(run_in(project, *words, "--format", "json").stdout)


def test_progress_is_on_stderr_and_can_be_left_out(project: Path) -> None:
    built = run_in(project, "build", "doubler")
    assert built.stdout.splitlines()[0].startswith(str(project / "dist" / "cpu" / "doubler.tar.gz"))
    assert len(built.stdout.splitlines()) == 1
    (project / "ensembles" / "unread" / "ensemble.toml").write_text('description = "one"')
    assert run_in(project, "build", "unread", "--quiet").stderr == ""


def test_the_keys_of_build_list_and_diff(project: Path) -> None:
    built = document(project, "build")
    (archive,), (failed,) = built["archives"], built["failed"]
    assert sorted(archive) == ["archive", "changed", "name", "sha256", "size", "weights"]
    assert (archive["name"], archive["changed"]) == ("doubler", True)
    assert failed["name"] == "unread" and "not TOML" in failed["error"]

    doubler, unread = document(project, "list")["ensembles"]
    assert doubler["steps"] == ["double (python)"]
    assert doubler["archive"]["sha256"] == archive["sha256"]
    assert "not TOML" in unread["error"]

    compared = document(project, "diff", "cpu", "fused")
    assert set(compared["servers"]["server"]) == {"before", "after"}
    assert any(line.startswith("+doubler/1/plan.json") for line in compared["ensembles"][0]["diff"])


def test_the_keys_of_upload_and_status(run: Run, archive: Archive) -> None:
    uploaded = json.loads(run(upload, archive.path, "--format", "json").stdout)
    assert uploaded["uploaded"] == 1
    (one,) = uploaded["archives"]
    assert one["key"] == archive.key and sorted(one) == ["key", "name", "sha256", "size", "weights"]
    shown = json.loads(run(status, "--format", "json").stdout)
    assert shown == {"endpoint": "triton-ensembles", "in_service": False, "lines": ["triton-ensembles: does not exist"]}


def test_a_command_that_fails_as_a_whole_prints_one_document_too(project: Path) -> None:
    """Otherwise a script that reads JSON sees nothing, and must read the words on stderr."""
    assert "there is no ensemble 'nope'" in document(project, "build", "nope")["error"]
    assert "both targets are cpu" in document(project, "diff", "cpu", "cpu")["error"]
    failed = run_in(project, "build", "unread", "--format", "json")
    assert failed.exit_code == 1 and "not TOML" in json.loads(failed.stdout)["failed"][0]["error"]


def test_a_model_that_does_not_answer_does_not_stop_the_others(run: Run) -> None:
    asked = run(invoke, "one", "two", "--format", "json")
    assert asked.exit_code == 1
    shown = json.loads(asked.stdout)
    assert shown["answers"] == [] and [each["model"] for each in shown["failed"]] == ["one", "two"]
    assert "2 of 2 models did not answer" in str(asked.exception)
