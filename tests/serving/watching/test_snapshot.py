"""What counts as a change, and how a staged repository follows what is written."""

from pathlib import Path

import pytest

from tests.files import write_files
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
    write_files(tmp_path / "double" / "1", {name: "x"})
    assert changes(before, snapshot(tmp_path)) == []


def test_a_repository_follows_what_is_staged_and_leaves_alone_what_is_equal(tmp_path: Path) -> None:
    """Otherwise one edited step reloads every model, or a removed file is served on."""
    served = write_chain(tmp_path / "served")
    write_files(served, {"double/1/__pycache__/model.pyc": "of the server"})
    (served / "old" / "1").mkdir(parents=True)
    before = snapshot(served)
    changed = {"triple/1/model.py": "# new", "README.md": "of no model"}
    staged = write_files(write_chain(tmp_path / "staged"), changed)
    (staged / "triple" / "2").mkdir()
    follow(staged, served)
    found = models_of(changes(before, snapshot(served)))
    assert found == {"old": ["old/1/"], "triple": ["triple/1/model.py", "triple/2/"]}
    assert (served / "double" / "1" / "__pycache__" / "model.pyc").exists()
