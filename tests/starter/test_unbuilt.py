"""An archive of this project is imported as what it was built from: built again, it differs in its name alone."""

import json
from pathlib import Path

import pytest

from tests.commands.projects import run_in
from tests.project.test_location import write_ensemble

# What a plan says of every step, which a config in git leaves out; and what no archive of a fused one has.
_SAID = {"default_model_filename", "instance_group.0.count", "instance_group.0.kind", "1/README.md"}


@pytest.mark.parametrize("target", ["cpu", "fused"])
def test_a_built_archive_comes_back_as_it_was_drawn(target: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_ensemble(first, "doubler")
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


def test_a_damaged_fused_archive_is_refused(tmp_path: Path) -> None:
    from tests.checking.packing import write

    config = 'backend: "python"\nparameters { key: "fused_plan" value { string_value: "00" } }\n'
    files = {"manifest.json": '{"ensemble": "top"}', "top/config.pbtxt": config, "top/1/plan.json": '{"steps": [{}]}'}
    archive = write(tmp_path / "top.tar.gz", {**files, "top/1/model.py": "x = 1\n"})
    (tmp_path / "project").mkdir()
    result = run_in(tmp_path / "project", "new", "again", "--from", str(archive))
    assert result.exit_code == 1 and "this archive of a fused ensemble is damaged" in result.output
    assert not list((tmp_path / "project").iterdir())
