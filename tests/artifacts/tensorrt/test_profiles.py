"""Profiles: a wrong one is refused where it is written, not by TensorRT after minutes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.artifacts.tensorrt.profiles import Profile, fill, profiles_of, read_profile
from triton_ensembles.ground.errors import EnsembleError

SIZES = st.lists(st.integers(1, 10**8), min_size=1, max_size=4)


@given(SIZES, SIZES, SIZES)
def test_a_profile_is_read_as_it_is_written(one: list[int], two: list[int], three: list[int]) -> None:
    axes = min(len(one), len(two), len(three))
    rows = zip(*(sorted(each) for each in zip(one, two, three, strict=False)), strict=True)
    profile = Profile(*(tuple(row[:axes]) for row in rows))
    assert read_profile(str(profile)) == profile


@pytest.mark.parametrize(
    "text", ["", "1x8", "1x8 1x16", "1x8 1x16 1x256 1x512", "1x8 1x4 1x256", "0x8 1x8 1x8", "1x8 16 1x256", "a b c"]
)
def test_text_that_is_not_a_profile_is_refused(text: str) -> None:
    with pytest.raises(EnsembleError, match="is not a profile"):
        profiles_of({"profiles": [text]})


def test_sizes_take_the_places_of_axes_that_vary() -> None:
    assert fill((-1, 299, 299, 3), (8,)) == (8, 299, 299, 3)
    assert fill((-1, -1), (1, 16)) == (1, 16)
    with pytest.raises(EnsembleError, match="the profile has 2 sizes, but 1 axes"):
        fill((-1, 3), (1, 16))
