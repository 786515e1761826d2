"""Profiles as files: which are read and used again, and what no measurement can have written is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.measuring.planning import synthetic
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.profiling.load import Load
from triton_ensembles.measuring.profiling.profile import (
    Profile,
    kept_profile,
    profile_file,
    read_profile,
    write_profile,
)

SHA256 = "0123456789abcdef" * 4
FULL = synthetic.profile(name="any", form="drawn")
PROFILE = replace(FULL, sha256=SHA256, loaded=FULL.loaded[:2], answers=FULL.answers[::2])  # of 1 and 4 at a time


@pytest.mark.parametrize("profile", [PROFILE, replace(PROFILE, kept_bytes=None, beside=PROFILE.rested)])
def test_a_profile_is_read_as_it_was_written(profile: Profile, tmp_path: Path) -> None:
    """Otherwise a plan is made with other numbers than those that were measured."""
    file = tmp_path / "new folder" / "profile.json"
    write_profile(profile, file)
    assert read_profile(file, SHA256) == profile


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sha256": "f" * 64}, "this is the profile of another archive, of sha256 ffffffffffff…"),
        ({"schema": 1}, "this is not a profile of schema 3"),
        ({"rested": {"concurrency": 1}}, "rested.batch: "),
        ({"server": {"anonymous_bytes": 1, "mapped_bytes": 0, "swap": 0}}, "server.swap: "),
        ({"load_seconds": 0}, "load_seconds: "),
        ({"unpack_seconds": float("nan")}, "unpack_seconds: "),
    ],
)
def test_what_no_measurement_has_written_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    """Otherwise a plan is a number that looks right."""
    file = tmp_path / "profile.json"
    write_profile(PROFILE, file)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(EnsembleError) as caught:
        read_profile(file, SHA256)
    assert words in str(caught.value)
    assert "profile --fresh" in caught.value.cure
    assert "\n" not in str(caught.value)


def _kept(folder: Path, sha256: str = SHA256, **asked: Any) -> tuple[Profile | None, list[str]]:
    said: list[str] = []
    file = profile_file(folder, Path("any.tar.gz"), SHA256)
    asked = {"copies": (1, 4), "concurrencies": (1, 4), "batches": (1,)} | asked
    return kept_profile(file, sha256, Load(**asked), said.append), said


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
    assert _kept(tmp_path)[0] is None
