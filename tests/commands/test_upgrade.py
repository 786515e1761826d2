"""``upgrade``: what a newer image changes for a repository, and nothing that was so before."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.commands.projects import run
from tests.files import edit, write_files
from tests.repositories import pack, write_ensemble, write_step

FLOAT = '{ name: "%s", data_type: TYPE_FP32, dims: [ -1 ] }'


def rules(result: Result) -> list[str]:
    assert result.exit_code in (0, 1), result.output
    return sorted(result["ruleId"] for result in json.loads(result.stdout)["runs"][0]["results"])


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A Python step that is wrong in any release, a model of TensorFlow, and an ensemble."""
    folder = tmp_path / "models"
    write_step(folder, "double", 2)
    write_ensemble(folder, "both", ["double"])
    step = folder / "double" / "1" / "model.py"
    step.write_text("import imp, not_there\n" + step.read_text())
    config = f'platform: "tensorflow_savedmodel"\ninput [ {FLOAT % "X"} ]\noutput [ {FLOAT % "Y"} ]\n'
    write_files(folder / "net", {"1/model.savedmodel/saved_model.pb": "x", "config.pbtxt": config})
    return folder


def test_it_names_what_the_newer_image_lacks_and_does_otherwise(models: Path) -> None:
    """Otherwise it is found on AWS, or among the hundred faults that the repository has anyway."""
    sarif = ("--format", "sarif", models)
    assert rules(run("upgrade", "--from", "24.09", "--to", "26.05", *sarif)) == ["image-backend", "import-missing"]
    assert run("upgrade", "--from", "24.09", "--to", "26.05", models).exit_code == 1
    assert rules(run("upgrade", "--from", "24.09", "--to", "24.10", *sarif)) == ["image-not-on-sagemaker"]
    assert rules(run("upgrade", "--from", "22.07", "--to", "24.09", *sarif)) == ["behavior-changed"]
    assert run("upgrade", "--from", "22.07", "--to", "24.09", models, "--strict").exit_code == 1
    assert run("upgrade", "--from", "22.07", "--to", "24.09", models).exit_code == 0


def test_a_change_of_behavior_has_its_release_note_and_a_comment_accepts_it(models: Path) -> None:
    config = models / "double" / "config.pbtxt"
    line = "dynamic_batching { default_queue_policy { max_queue_size: 4 } }"
    config.write_text(f"{config.read_text()}\n{line}\n")
    result = run("upgrade", "--from", "26.02", "--to", "sagemaker", models)
    assert "double/config.pbtxt" in result.output and "since release 26.03, a full queue fails" in result.output
    assert "release note v2.67.0" in result.output
    assert "behavior-changed" not in run("upgrade", "--from", "26.03", "--to", "26.05", models).output
    edit(config, line, f"# check: ignore[behavior-changed] clients retry\n{line}")
    assert "since release 26.03" not in run("upgrade", "--from", "26.02", "--to", "26.05", models).output


def test_an_environment_whose_activate_no_longer_runs(models: Path) -> None:
    config = models / "double" / "config.pbtxt"
    parameter = 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: "$$TRITON_MODEL_DIRECTORY/env" } }'
    config.write_text(f"{config.read_text()}\n{parameter}\n")
    assert "python_backend #404" in run("upgrade", "--from", "24.09", "--to", "26.05", models).output
    assert "#404" not in run("upgrade", "--from", "25.09", "--to", "26.05", models).output


def test_what_a_new_release_refuses_is_named_although_check_always_warns_of_it(models: Path) -> None:
    (models / "double").rename(models / "double!")
    assert "python-model-name-future" in run("upgrade", "--from", "25.04", "--to", "25.08", models).output
    assert "python-model-name-future" not in run("upgrade", "--from", "25.08", "--to", "26.05", models).output


def test_an_archive_for_the_python_of_the_old_image(models: Path) -> None:
    (models / "manifest.json").write_text(json.dumps({"python": "3.10"}))
    archive = pack(models, models.parent / "six.tar.gz")
    assert "archive-python" in rules(run("upgrade", "--from", "24.09", "--to", "26.05", "--format", "sarif", archive))
