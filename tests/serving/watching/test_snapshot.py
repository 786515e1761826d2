"""What counts as a change, and how a staged repository follows what is written."""

from pathlib import Path

import pytest

from tests.files import write_files
from tests.repositories import write_chain
from triton_ensembles.serving.watching.snapshot import changes, snapshot


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
