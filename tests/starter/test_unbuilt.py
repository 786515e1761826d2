"""An archive of this project is imported as what it was built from: built again, it differs in its name alone."""

import json
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY, python_step, write
from tests.commands.projects import run_in
from tests.files import write_files
from tests.project.test_location import write_ensemble
from triton_ensembles.checking.examples import ensemble, step

CALL = """
    def ask(self, x):
        x = pb_utils.Tensor("X", x)
        return pb_utils.InferenceRequest(model_name="callee", requested_output_names=["Y"], inputs=[x]).exec()
"""
# What a plan says of every step, which a config in git leaves out; and what no archive of a fused one has.
_SAID = {"default_model_filename", "instance_group.0.count", "instance_group.0.kind", "1/README.md"}


@pytest.mark.parametrize("target", ["cpu", "fused"])
def test_a_built_archive_comes_back_as_it_was_drawn(target: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_ensemble(first, "doubler")
    twice = ensemble(step("double", {"X": "X"}, {"Y": "T"}), step("double", {"X": "T"}, {"Y": "Y"}))
    write_files(first / "ensembles" / "doubler", {"ensemble/config.pbtxt": twice})
    second.mkdir()
    for built_for in {"cpu", target}:
        result = run_in(first, "build", "--target", built_for)
        assert result.exit_code == 0, result.output
    archive = first / "dist" / target / "doubler.tar.gz"
    imported = run_in(second, "new", "again", "--from", str(archive))
    assert imported.exit_code == 0, imported.output
    names = {path.name for path in (second / "ensembles" / "again").iterdir() if path.is_dir()}
    assert names == {"ensemble", "double"}
    assert not list(second.rglob("numpy")), "packages of the archive stay out"
    result = run_in(second, "build")
    assert result.exit_code == 0, result.output
    archives = [str(next((project / "dist" / "cpu").iterdir())) for project in (first, second)]
    compared = run_in(second, "diff", *archives, "--format", "json")
    (repository,) = json.loads(compared.stdout)["repositories"]
    assert repository["client"] == ["doubler is now called again"]
    assert {change["name"] for change in repository["changes"]} - _SAID == {"name"}


def test_a_model_that_is_only_called_comes_back(tmp_path: Path) -> None:
    write_ensemble(tmp_path, "doubler")
    files = {"double/1/model.py": MODEL_PY + CALL, "callee/config.pbtxt": python_step(), "callee/1/model.py": MODEL_PY}
    write_files(tmp_path / "ensembles" / "doubler", files)
    built = run_in(tmp_path, "build", "--target", "fused")
    assert built.exit_code == 0, built.output
    imported = run_in(tmp_path, "new", "again", "--from", str(tmp_path / "dist" / "fused" / "doubler.tar.gz"))
    assert imported.exit_code == 0, imported.output
    assert (tmp_path / "ensembles" / "again" / "callee" / "1" / "model.py").read_text() == MODEL_PY


def test_a_damaged_fused_archive_is_refused(tmp_path: Path) -> None:
    config = 'backend: "python"\nparameters { key: "fused_plan" value { string_value: "00" } }\n'
    files = {"manifest.json": '{"ensemble": "top"}', "top/config.pbtxt": config, "top/1/plan.json": '{"steps": [{}]}'}
    archive = write(tmp_path / "top.tar.gz", {**files, "top/1/model.py": "x = 1\n"})
    (tmp_path / "project").mkdir()
    result = run_in(tmp_path / "project", "new", "again", "--from", str(archive))
    assert result.exit_code == 1 and "this archive of a fused ensemble is damaged" in result.output
    assert not list((tmp_path / "project").iterdir())
