"""Profiles as files: what is written is read again, and what no measurement can have written is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.measuring.planning import synthetic as planned
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.profiling.profile import (
    Answers,
    Loaded,
    Machine,
    Memory,
    Profile,
    document,
    read_profile,
    write_profile,
)

SHA256 = "0123456789abcdef" * 4
FULL = planned.profile(name="any", form="drawn")
PROFILE = replace(FULL, sha256=SHA256, loaded=FULL.loaded[:2], answers=FULL.answers[::2])  # of 1 and 4 at a time
_BYTES = st.integers(0, 1 << 60)
_SECONDS = st.floats(0, 1e6)
_ABOVE_0 = st.floats(1e-9, 1e6)
_MEMORY = st.builds(Memory, _BYTES, _BYTES)
_NUMBERS = {
    "packed_bytes": st.integers(1, 1 << 60),
    "unpacked_bytes": st.integers(1, 1 << 60),
    "temporary_bytes": _BYTES,
    "unpack_seconds": _SECONDS,
    "unpack_core_seconds": _SECONDS,
    "load_seconds": _ABOVE_0,
    "load_core_seconds": _SECONDS,
    "first_seconds": _SECONDS,
    "unload_seconds": _SECONDS,
}


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    counts = sorted(draw(st.sets(st.integers(2, 1000), max_size=3)) | {1})
    kinds = draw(st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=4, unique=True))

    def answers(concurrency: int, batch: int) -> Answers:
        p50, p95, p99 = sorted(draw(st.tuples(_ABOVE_0, _ABOVE_0, _ABOVE_0)))
        return Answers(concurrency, batch, draw(_ABOVE_0), p50, p95, p99, draw(_SECONDS))

    return replace(
        PROFILE,
        archive=draw(st.text(min_size=1, max_size=20).map(lambda text: text.encode(errors="replace").decode())),
        form=draw(st.sampled_from(["drawn", "fused"])),
        server=draw(_MEMORY),
        loaded=tuple(Loaded(count, draw(_MEMORY)) for count in counts),
        rested=answers(1, 1),
        answers=tuple(answers(*kind) for kind in kinds),
        kept_bytes=draw(st.none() | _BYTES),
        machine=Machine("any", draw(st.integers(1, 1000)), draw(st.integers(1, 1 << 60))),
        **draw(st.fixed_dictionaries(_NUMBERS)),
    )


@given(profile=profiles())
def test_a_profile_is_read_as_it_was_written(profile: Profile, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Otherwise a plan is made with other numbers than those that were measured."""
    file = tmp_path_factory.getbasetemp() / "round trip" / "profile.json"
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
        (_set("schema", to=1), "this profile has schema 1, and 3 is known here"),
        (lambda value: value.pop("schema"), "it has no 'schema'"),
        (lambda value: value["answers"][1].pop("p95_seconds"), "it has no 'answers[1].p95_seconds'"),
        (_set("answers", to=[]), "'answers' is []"),
        (_set("loaded", 0, "memory", to=None), "'loaded[0].memory' is null"),
        (_set("server", "swap", to=0), "it has an unknown key 'server.swap'"),
        (_set("load_seconds", to=0), "'load_seconds' is 0"),
        (_set("packed_bytes", to=-5), "'packed_bytes' is -5"),
        (_set("packed_bytes", to=10**30), "'packed_bytes' is 1000"),
        (_set("packed_bytes", to=True), "'packed_bytes' is true"),
        (_set("unpack_seconds", to=float("nan")), "'unpack_seconds' is NaN"),
        (_set("answers", 0, "requests_per_second", to=float("nan")), "'answers[0].requests_per_second' is NaN"),
        (_set("answers", 0, "p50_seconds", to=9.0), "'answers[0]': its percentiles do not ascend"),
        (_set("answers", 1, "concurrency", to=1), "'answers' has the same concurrency and batch twice"),
        (_set("loaded", 1, "models", to=1), "'loaded' does not begin with 1 copy and ascend"),
        (_set("created", to="yesterday"), "'created'"),
        (_set("form", to="mixed"), "'form' is \"mixed\""),
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


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "\x00", "[" * 100_000, '{"schema": NaN}'])
def test_what_is_no_profile_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text(text)
    for path in (file, tmp_path, tmp_path / "none.json"):
        with pytest.raises(EnsembleError, match="profile"):
            read_profile(path)
