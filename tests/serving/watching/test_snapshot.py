"""What counts as a change, and how a staged repository follows what is written."""

import os
from pathlib import Path

import pytest

from tests.repositories import write_chain
from triton_ensembles.serving.watching.snapshot import changes, models_of, snapshot
from triton_ensembles.serving.watching.source import follow


@pytest.mark.parametrize(
    "name",
    [".model.py.swp", "4913", "model.py~", "#model.py#", ".#model.py", "model.py___jb_tmp___", "__pycache__/m.pyc"],
)
def test_what_editors_and_python_leave_for_a_moment_is_no_change(name: str, tmp_path: Path) -> None:
    """Otherwise each save reloads twice, or fails on a half of a file."""
    write_chain(tmp_path)
    before = snapshot(tmp_path)
    file = tmp_path / "double" / "1" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("x")
    assert changes(before, snapshot(tmp_path)) == []


def test_edits_new_and_removed_files_are_changes_of_their_models(tmp_path: Path) -> None:
    write_chain(tmp_path)
    before = snapshot(tmp_path)
    (tmp_path / "double" / "1" / "model.py").write_text("# another size")
    os.utime(tmp_path / "triple" / "1" / "model.py", (1e9, 1e9))  # an older file in its place
    (tmp_path / "six" / "1").rmdir()
    (tmp_path / "README.md").write_text("of no model")
    assert models_of(changes(before, snapshot(tmp_path))) == {
        "double": ["double/1/model.py"],
        "triple": ["triple/1/model.py"],
        "six": ["six/1/"],
    }


def test_a_repository_follows_what_is_staged_and_leaves_alone_what_is_equal(tmp_path: Path) -> None:
    """Otherwise one edited step reloads every model, or a removed file is served on."""
    served = write_chain(tmp_path / "served")
    (served / "double" / "1" / "__pycache__").mkdir()
    (served / "double" / "1" / "__pycache__" / "model.pyc").write_bytes(b"of the server")
    (served / "old" / "1").mkdir(parents=True)
    before = snapshot(served)
    staged = write_chain(tmp_path / "staged")
    (staged / "triple" / "1" / "model.py").write_text("# new")
    (staged / "triple" / "2").mkdir()
    follow(staged, served)
    assert changes(before, snapshot(served)) == ["old/1/", "triple/1/model.py", "triple/2/"]
    assert (served / "double" / "1" / "__pycache__" / "model.pyc").exists()
