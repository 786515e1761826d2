"""The folder that the tests of reports run in."""

from pathlib import Path

import pytest


@pytest.fixture
def git_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``tmp_path`` is the root of a git repository and the working folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
