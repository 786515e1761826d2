"""Which profile of before is used again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.measuring.profiling.test_profile import PROFILE, SHA256
from triton_ensembles.measuring.profiling.profile import Profile, kept_profile, profile_file, write_profile

ASKED: dict[str, Any] = {"copies": (1, 4), "concurrencies": (1, 4), "batches": (1,)}


def _kept(folder: Path, sha256: str = SHA256, **asked: Any) -> tuple[Profile | None, list[str]]:
    said: list[str] = []
    file = profile_file(folder, Path("any.tar.gz"), SHA256)
    return kept_profile(file, sha256, progress=said.append, **ASKED | asked), said


@pytest.mark.parametrize(
    ("asked", "measured"),
    [
        ({}, True),
        ({"copies": (1, 4, 16)}, True),
        ({"copies": (1, 2)}, False),
        ({"batches": (1, 8)}, True),
        ({"concurrencies": (4,)}, True),
        ({"concurrencies": (1, 2)}, False),
    ],
)
def test_one_with_all_that_is_asked_for_is_used_again(asked: dict[str, Any], measured: bool, tmp_path: Path) -> None:
    """Also where the machine had no room for more copies, or the model takes no more rows: they would not come now."""
    write_profile(PROFILE, profile_file(tmp_path, Path("any.tar.gz"), SHA256))
    profile, said = _kept(tmp_path, **asked)
    assert profile == (PROFILE if measured else None)
    assert [line for line in said if "measuring again" in line] == said
    assert bool(said) != measured


def test_one_of_another_archive_or_that_is_damaged_is_not(tmp_path: Path) -> None:
    """The names of files have a part of the sha256 only."""
    file = profile_file(tmp_path, Path("any.tar.gz"), SHA256)
    assert _kept(tmp_path) == (None, [])
    write_profile(PROFILE, file)
    other, said = _kept(tmp_path, sha256=SHA256[:-1] + "0")
    assert other is None
    assert "another archive" in said[0]
    file.write_text("{")
    damaged, said = _kept(tmp_path)
    assert damaged is None
    assert "measuring it again" in said[0]
