"""`check --format sarif`: valid, stable, and as GitHub's code scanning reads it."""

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest

from tests.checking.reports import MISSING, NEGATIVE, run, write_model
from tests.repositories import pack
from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.examples import io_tensor, python_model
from triton_ensembles.checking.fault import Fault, Place, Severity
from triton_ensembles.checking.formats import printed, sarif
from triton_ensembles.checking.registry import RULES

pytestmark = pytest.mark.usefixtures("git_folder")
_SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-schema-2.1.0.json").read_text())


def results(*arguments: object) -> list[dict[str, Any]]:
    """The results of the one run, in a log that the schema accepts."""
    return log(run(*arguments, "--format", "sarif").stdout)["results"]


def log(text: str) -> dict[str, Any]:
    data = json.loads(text)
    jsonschema.Draft4Validator(_SCHEMA).validate(data)
    (only,) = data["runs"]
    return only


def uri_of(result: dict[str, Any]) -> str:
    (location,) = result["locations"]
    return location["physicalLocation"]["artifactLocation"]["uri"]


def test_a_result_has_its_rule_level_place_and_message() -> None:
    """Otherwise code scanning shows an alert that leads nowhere."""
    write_model(Path("models"), NEGATIVE)
    (result,) = results("models")
    assert (result["ruleId"], result["level"]) == ("max-batch-size-negative", "error")
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "models/scale/config.pbtxt", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 2, "startColumn": 17},
    }
    assert result["message"]["text"].startswith("max_batch_size is -1\nTriton refuses it: ")
    assert "\nfix: write max_batch_size: 0" in result["message"]["text"]


def test_every_rule_can_be_described() -> None:
    """Otherwise one rule makes the whole log invalid."""
    faults = [Fault(rule.severity, rule.id, Place("models"), f"fault of {rule.id}") for rule in RULES]
    run = log(printed("sarif", Report(tuple(faults), ("models",)), 0))
    described = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in described] == [rule.id for rule in RULES]
    assert all(described[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert all(rule["shortDescription"]["text"] and rule["help"]["text"] for rule in described)


def test_paths_are_relative_to_the_git_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the alerts of a job that runs in a folder of the repository belong to no file."""
    write_model(tmp_path / "serving" / "models", NEGATIVE)
    monkeypatch.chdir(tmp_path / "serving" / "models")
    for path in (".", "../models", tmp_path / "serving" / "models"):
        assert [uri_of(result) for result in results(path)] == ["serving/models/scale/config.pbtxt"]
    (tmp_path / "serving" / ".git").touch()  # a worktree
    assert [uri_of(result) for result in results(".")] == ["models/scale/config.pbtxt"]


def test_a_file_outside_the_repository_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its relative path leads out of the repository, which GitHub refuses."""
    config = write_model(tmp_path / "models", NEGATIVE)
    (tmp_path / "elsewhere" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    (result,) = results(tmp_path / "models")
    assert uri_of(result) == config.as_uri()
    assert "uriBaseId" not in result["locations"][0]["physicalLocation"]["artifactLocation"]


@pytest.mark.parametrize(
    "name", ["a b", "50%", "a#b?c", "größe", "q\"'&<>", "a:b", "new\nline", "esc\x1b[31m", "bang!x", "\udce9"]
)
def test_uris_lead_to_files_of_any_name(name: str) -> None:
    """Otherwise a name with a space, an umlaut or a byte that is not UTF-8 makes a link that leads nowhere."""
    config = write_model(Path("models"), NEGATIVE, name)
    uris = {uri_of(result) for result in results("models")}
    assert os.fspath(config) in {unquote(uri, errors="surrogateescape") for uri in uris}
    assert all(urlsplit(uri).path == uri and re.fullmatch(r"[\w/.%-]+", uri, re.ASCII) for uri in uris)


def test_a_fault_in_an_archive_is_at_the_archive_and_names_the_member() -> None:
    """Otherwise the alert is for a file that git does not have."""
    write_model(Path("models"), NEGATIVE)
    pack(Path("models"), Path("a b.tar.gz"))
    (result,) = [fault for fault in results("a b.tar.gz") if fault["ruleId"] == "max-batch-size-negative"]
    (location,) = result["locations"]
    assert uri_of(result) == "a%20b.tar.gz" and location["physicalLocation"]["region"] == {"startLine": 1}
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "a b.tar.gz!scale/config.pbtxt:2:17"
    assert result["message"]["text"].startswith("scale/config.pbtxt: max_batch_size is -1")


def test_a_fault_of_a_folder_or_of_the_instance_has_a_place_that_exists_and_a_level() -> None:
    """Otherwise GitHub refuses the whole log: every result needs a file; or a warning blocks a pull request."""
    write_model(Path("models"), python_model())
    assert results("models") == []  # and the log is valid
    Path("models/stray").mkdir()
    levels = {(result["ruleId"], uri_of(result)): result["level"] for result in results("models", "--image", "23.04")}
    assert levels["folder-not-a-model", "models/stray"] == "error"
    assert levels["image-not-on-sagemaker", "models"] == "note"


def test_fingerprints_stay_when_lines_move_and_differ_between_faults() -> None:
    """Otherwise an edit above a fault closes its alert and opens another."""
    text = python_model("colour: 1\ncolour: 1", size=-1, inputs=io_tensor("X", dims="0"))
    config = write_model(Path("models"), text)
    before = [result["partialFingerprints"] for result in results("models")]
    assert len(set(map(json.dumps, before))) == len(before) == 4  # also those of two equal lines
    config.write_text("# moved\n\n" + text.replace("max_batch_size:", "   max_batch_size: ", 1))
    assert [result["partialFingerprints"] for result in results("models")] == before


def test_more_results_than_github_takes_are_cut_with_a_word_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise GitHub refuses the log, and shows nothing."""
    place = Place("models/scale/config.pbtxt", 1, 1)
    notes = [Fault(Severity.NOTE, "version-missing", place, f"note {number}") for number in range(sarif.MOST_RESULTS)]
    errors = [Fault(Severity.ERROR, "max-batch-size-negative", Place("models/z/config.pbtxt", 1, 1), "late")]
    text = printed("sarif", Report((*notes, *errors), ("models",)), 0)
    data = json.loads(text)["runs"][0]
    assert len(data["results"]) == sarif.MOST_RESULTS
    assert "error" in {result["level"] for result in data["results"]}
    (notification,) = data["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("25,001 results were found")


def test_accepted_faults_are_suppressed_results() -> None:
    """Otherwise nobody can see what a repository accepts."""
    write_model(Path("models"), python_model(f"# check: ignore[version-missing] next week\n{MISSING}"))
    Path("pyproject.toml").write_text('[tool.triton-ensembles.check]\nignore = ["max-batch-size-negative"]\n')
    write_model(Path("models"), NEGATIVE, "negative")
    reasons = {result["ruleId"]: result["suppressions"] for result in results("models")}
    assert reasons["version-missing"] == [{"kind": "inSource", "status": "accepted", "justification": "next week"}]
    (external,) = reasons["max-batch-size-negative"]
    assert external["kind"] == "external" and "pyproject.toml" in external["justification"]


def test_with_a_baseline_results_are_new_or_unchanged() -> None:
    """Otherwise viewers cannot filter for new ones."""
    write_model(Path("models"), NEGATIVE)
    run("models", "--write-baseline", "known.json")
    write_model(Path("models"), NEGATIVE, "second")
    states = {uri_of(result): result["baselineState"] for result in results("models", "--baseline", "known.json")}
    assert states == {"models/scale/config.pbtxt": "unchanged", "models/second/config.pbtxt": "new"}
