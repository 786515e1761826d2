"""Profiles as files: what is written is read again, and what no measurement can have written is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.measuring.planning import synthetic as planned
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.profiling.profile import Profile, document, read_profile, write_profile

SHA256 = "0123456789abcdef" * 4
FULL = planned.profile(name="any", form="drawn")
PROFILE = replace(FULL, sha256=SHA256, loaded=FULL.loaded[:2], answers=FULL.answers[::2])  # of 1 and 4 at a time


@pytest.mark.parametrize("profile", [PROFILE, replace(PROFILE, kept_bytes=None, beside=PROFILE.rested)])
def test_a_profile_is_read_as_it_was_written(profile: Profile, tmp_path: Path) -> None:
    """Otherwise a plan is made with other numbers than those that were measured."""
    file = tmp_path / "new folder" / "profile.json"
    write_profile(profile, file)
    assert read_profile(file, SHA256) == profile


def _set(*keys: str | int, to: object) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        for key in keys[:-1]:
            value = value[key]
        value[keys[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("sha256", to="f" * 64), "this is the profile of another archive, of sha256 ffffffffffff…"),
        (_set("schema", to=1), "this is not a profile of schema 3"),
        (lambda value: value["answers"][1].pop("p95_seconds"), "answers.1.p95_seconds: "),
        (_set("server", "swap", to=0), "server.swap: "),
        (_set("load_seconds", to=0), "load_seconds: "),
        (_set("unpack_seconds", to=float("nan")), "unpack_seconds: "),
    ],
)
def test_what_no_measurement_has_written_is_refused(change: Callable[[Any], None], words: str, tmp_path: Path) -> None:
    """Otherwise a plan is a number that looks right."""
    value = document(PROFILE)
    change(value)
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(value))
    with pytest.raises(EnsembleError) as caught:
        read_profile(file, SHA256)
    assert words in str(caught.value)
    assert "profile --fresh" in caught.value.cure
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_what_is_no_profile_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text(text)
    with pytest.raises(EnsembleError, match="profile"):
        read_profile(file)
