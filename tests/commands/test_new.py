"""What `new` refuses, and that it then leaves nothing behind."""

import os
from pathlib import Path

import pytest

from tests.commands.projects import done_in, run_in
from tests.repositories import write_chain


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("")
    result = run_in(tmp_path, "new", "moods")
    assert result.exit_code == 1
    assert "this folder is not empty (it has setup.py); go to an empty folder" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["setup.py"]
    (tmp_path / "ensembles").mkdir()
    assert run_in(tmp_path, "new", "moods").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ensembles", "envs", "setup.py", "tests"]


def test_files_of_a_new_repository_are_kept(tmp_path: Path) -> None:
    for name in (".git", ".gitignore", "README.md"):
        (tmp_path / name).write_text("mine")
    result = run_in(tmp_path, "new", "moods")
    assert result.exit_code == 0
    assert f"kept {tmp_path}/README.md, which was there\n" in result.stderr
    assert {(tmp_path / name).read_text() for name in (".git", ".gitignore", "README.md")} == {"mine"}
    assert (tmp_path / "Makefile").is_file()


@pytest.mark.parametrize("existing", ["ensembles/moods", "envs/moods.yml", "tests/test_moods.py"])
@pytest.mark.parametrize("is_link", [False, True])
def test_what_exists_is_not_overwritten(tmp_path: Path, existing: str, is_link: bool) -> None:
    (tmp_path / "ensembles").mkdir()
    path = tmp_path / existing
    path.parent.mkdir(exist_ok=True)
    path.symlink_to("nowhere") if is_link else path.write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    result = run_in(tmp_path, "new", "moods")
    assert result.exit_code == 1
    words = "exists, and nothing is overwritten; choose another name, or move it away"
    assert result.stderr == f"error: {path} {words}\n"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path: Path) -> None:
    """A limit on the size of files is the same, but for everybody."""
    write_chain(tmp_path / "models")
    (tmp_path / "models" / "double" / "1" / "weights.bin").write_bytes(os.urandom(1 << 20))
    project = tmp_path / "project"
    project.mkdir()
    done = done_in(project, "new", "x", "--from", tmp_path / "models", largest_file=1 << 19)
    (line,) = done.stderr.splitlines()
    assert line == f"error: {project}: this process may not write a file of that size; raise its limit (ulimit -f)"
    assert done.returncode == 1
    assert [*project.iterdir()] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    result = run_in(tmp_path, "new", "moods")
    tmp_path.chmod(0o700)
    assert f"error: {tmp_path}: permission denied" in result.stderr


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".moods.4194305.partial" / "ensembles").mkdir(parents=True)  # no process has a number that high
    (tmp_path / f".moods.{os.getppid()}.partial").mkdir()
    assert run_in(tmp_path, "new", "moods").exit_code == 0
    assert [path.name for path in tmp_path.glob("*.partial")] == [f".moods.{os.getppid()}.partial"]
