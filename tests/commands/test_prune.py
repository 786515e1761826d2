"""`prune` frees what no archive needs, and nothing else."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.commands.projects import command, run, run_in, succeeded, write_ensemble
from tests.files import write_files
from tests.running import running
from triton_ensembles.building.places import Places

RECIPE = """description = "one"
[environments.own]
file = "own.yml"
steps = ["double"]
kind = "wheels"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """``doubler`` is built with an entry of the store; another entry and a download are of nothing that exists."""
    write_ensemble(tmp_path, "doubler")
    write_ensemble(tmp_path, "plain")
    packages = "dependencies:\n  - python=3.11\n  - pip:\n      - toolz==1.0.0\n"
    write_files(tmp_path, {"ensembles/doubler/ensemble.toml": RECIPE, "own.yml": packages})
    model = tmp_path / "ensembles" / "doubler" / "double" / "1" / "model.py"
    model.write_text("import toolz\n" + model.read_text())
    succeeded(run_in(tmp_path, "build"))
    write_files(tmp_path / "build", {"store/0/old/large.bin": bytes(3_000_000), "downloads/1": bytes(2_000_000)})
    return tmp_path


def stored(project: Path) -> set[str]:
    """The names of what is in the store and the downloads, without the locks."""
    places = Places.of(project)
    return {path.name for each in (places.store, places.downloads) for path in each.iterdir() if path.suffix != ".lock"}


def test_what_no_archive_needs_is_freed(project: Path) -> None:
    needed = stored(project) - {"0", "1"}
    assert needed
    tried = run_in(project, "prune", "--dry-run")
    assert "5.0 MB  would be freed, by 2 files and folders" in tried.output
    assert stored(project) == needed | {"0", "1"}
    done = run_in(project, "prune")
    assert "3.0 MB" in done.output and "build/store/0" in done.output and "2.0 MB" in done.output
    assert "5.0 MB  freed, by 2 files and folders" in done.output
    assert stored(project) == needed
    assert run_in(project, "build").output.count("unchanged, nothing to do") == 2

    archive = Places.of(project).archive("cpu", "doubler")
    os.utime(archive, (time.time() - 8 * 86400,) * 2)
    assert "by 0 files" in run_in(project, "prune", "--days", "9").output
    assert run_in(project, "prune", "--days", "7").exit_code == 0
    assert stored(project) == set()
    assert archive.is_file()


def test_it_waits_for_builds(project: Path) -> None:
    """Otherwise it removes what they have just made, and not yet noted."""
    said: list[str] = []
    build = Places.of(project).building(said.append)
    with build, running(*command(project, "prune"), stderr=subprocess.PIPE) as waiting:
        assert waiting.stderr is not None
        assert waiting.stderr.readline().startswith("waiting for builds that are running")
        assert {"0", "1"} <= stored(project)
        # A second build is not kept waiting by the one that runs.
        with Places.of(project).building(said.append):
            assert said == []
        waiting.kill()
    assert run_in(project, "prune").exit_code == 0
    assert not {"0", "1"} & stored(project)


def test_without_a_project_the_packages_of_repositories_are_freed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else ever removes them."""
    monkeypatch.setenv("TRITON_ENSEMBLES_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "home" / "build", {"store/0/declared/pandas/large.bin": bytes(3_000_000)})
    result = run("prune")
    assert result.exit_code == 0 and "3.0 MB  freed, by 1 files and folders" in result.output
    assert not (tmp_path / "home" / "build" / "store" / "0").exists()
