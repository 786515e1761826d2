"""The command `check`: what it prints, and how it exits."""

import json
from pathlib import Path

import botocore.session
import pytest

from tests.commands.projects import run, run_in, write_ensemble
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.triton.releases import check_instance, instance_types


def test_a_fault_in_the_forms_for_people_and_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise editors and GitHub cannot show the line, programs break, or people are not told what to write."""
    monkeypatch.chdir(tmp_path)
    stage(Example(python_model(size=-1)), tmp_path / "models", "scale")
    result = run("check", "models")
    lines = result.output.splitlines()
    assert result.exit_code == 1
    assert lines[0] == "models/scale/config.pbtxt:2:17: error[max-batch-size-negative]: max_batch_size is -1"
    assert lines[1].startswith("    Triton refuses it: 'max_batch_size' must be non-negative value")
    assert lines[2] == "    fix: write max_batch_size: 0 for a model that does not batch"
    assert lines[3].startswith("1 error in 1 repository (")
    data = json.loads(run("check", "models", "--format", "json").output)
    assert (data["errors"], data["repositories"]) == (1, 1)
    (fault,) = data["faults"]
    found = [fault[key] for key in ("rule", "severity", "line", "column")]
    assert found == ["max-batch-size-negative", "error", 2, 17]
    place = "file=models/scale/config.pbtxt,line=2,col=17,title=max-batch-size-negative"
    assert run("check", "models", "--format", "github").output.startswith(f"::error {place}::max_batch_size is -1%0A")


def test_explain_lists_all_rules() -> None:
    """Otherwise nobody knows which names there are."""
    lines = run("check", "--explain").output.splitlines()
    assert [line.split()[0] for line in lines] == [rule.id for rule in RULES]
    assert lines[0].split(maxsplit=2) == ["archive-bomb", "error", "An archive unpacks to a plausible size"]
    assert run("check", "--explain", "archive-bomb").output.startswith("archive-bomb (error)\n")


def test_every_instance_type_of_sagemaker_is_known() -> None:
    """Otherwise an instance that AWS has is refused, or a Tab offers one that it has not."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    names = model.shape_for("ProductionVariantInstanceType").enum
    for name in names:
        check_instance(name)
    assert {*instance_types()} <= {*names}


def test_an_own_image_is_checked_as_far_as_it_is_known(tmp_path: Path) -> None:
    """Otherwise the image of this project's own server is unknown to its own checker, or a custom one is refused."""
    stage(Example(python_model()), tmp_path, "scale")
    custom = run("check", tmp_path, "--image", "registry.example.com/mine:prod")
    assert custom.exit_code == 0 and "warning[image-unknown]" in custom.output
    assert "no faults" in run("check", tmp_path, "--image", PIP_SERVER).output


def test_warnings_fail_only_with_strict_and_notes_never(tmp_path: Path) -> None:
    """Otherwise a warning stops a build; or CI passes with warnings that nobody reads, or cannot pass at all."""
    stage(Example(python_model("version_policy { specific { versions: [ 1, 2 ] } }")), tmp_path / "a", "scale")
    stage(Example(python_model()), tmp_path / "b", "scale")
    warned = run("check", tmp_path / "a")
    assert "warning[version-missing]" in warned.output and warned.exit_code == 0
    assert run("check", tmp_path / "a", "--strict").exit_code == 1
    noted = run("check", tmp_path / "b", "--strict", "--image", "23.04")
    assert "note[image-not-on-sagemaker]" in noted.output and noted.exit_code == 0


def test_an_ensemble_is_checked_by_its_name_and_a_path_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise check is the one command that needs to be told where ensembles/ is."""
    write_ensemble(tmp_path, "doubler")
    (tmp_path / "ensembles" / "doubler" / "double" / "config.pbtxt").write_text("max_batch_size: many")
    monkeypatch.chdir(tmp_path)
    named = run_in(tmp_path, "check", "doubler")
    assert named.exit_code == 1
    assert "ensembles/doubler/double/config.pbtxt" in named.stdout
    write_ensemble(tmp_path, "elsewhere")
    (tmp_path / "ensembles" / "elsewhere").rename(tmp_path / "doubler")
    assert run_in(tmp_path, "check", "doubler").exit_code == 0
    unknown = run_in(tmp_path, "check", "tripler")
    assert unknown.exit_code == 2
    assert "there is no ensemble 'tripler', and no such path; there are doubler" in unknown.stderr
    (tmp_path / "empty").mkdir()
    assert "there is no model here" in run_in(tmp_path, "check", "empty").stderr


def test_without_a_project_the_current_folder_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise whoever types `check` in a folder of repositories learns of projects, and not of faults."""
    monkeypatch.chdir(tmp_path)
    assert "there is no model here" in run("check").output
    stage(Example(python_model(size=-1)), tmp_path / "models", "scale")
    result = run("check")
    assert result.exit_code == 1 and "found: models" in result.stderr
    assert result.stdout.startswith("models/scale/config.pbtxt:2:17: error[max-batch-size-negative]")
