"""backends/common/padding.py: requests of different lengths in one run."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.paths import BACKENDS

sys.path.append(str(BACKENDS / "common"))  # as the backends' model.py do

from batching import Array, BadInputError, Work
from declared import LoadError
from padding import RUN_COST, cheapest_groups, find_axes, run_padded

AXES = find_axes(
    {"IDS": ["batch", "tokens"], "MASK": ["batch", "tokens"]}, {"Y": ["batch", "tokens", 2], "N": ["batch"]}
)


def encode(inputs: Mapping[str, Array], wanted: tuple[str, ...]) -> list[Array]:
    """A stand-in for an encoder that masks: every token's answer depends on all unmasked tokens of its row."""
    total = (inputs["IDS"] * inputs["MASK"]).sum(axis=1)
    outputs = {"Y": np.stack([inputs["IDS"], np.broadcast_to(total[:, None], inputs["IDS"].shape)], axis=2), "N": total}
    return [outputs[name] for name in wanted]


def work(rows: int, length: int, seed: int) -> Work:
    ids = np.random.default_rng(seed).integers(1, 100, (rows, length))
    return Work({"IDS": ids, "MASK": np.ones_like(ids)}, ("Y", "N"))


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 60)), max_size=12))
def test_everybody_gets_what_they_would_get_alone(plan: list[tuple[int, int]]) -> None:
    works = [work(rows, length, seed) for seed, (rows, length) in enumerate(plan)]
    for each, result in zip(works, run_padded(works, encode, AXES), strict=True):
        assert not isinstance(result, Exception)
        for name, array in zip(("Y", "N"), encode(each.inputs, ("Y", "N")), strict=True):
            np.testing.assert_array_equal(result[name], array)
            assert result[name].flags.c_contiguous


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 128)), min_size=1, max_size=7))
def test_no_split_is_cheaper(plan: list[tuple[int, int]]) -> None:
    def cost(group: list[int]) -> float:
        return RUN_COST + sum(plan[index][0] for index in group) * max(plan[index][1] for index in group)

    def splits(items: list[int]) -> list[list[list[int]]]:
        if not items:
            return [[]]
        first, *rest = items
        found = [[[first], *split] for split in splits(rest)]
        return found + [
            [*split[:place], [first, *split[place]], *split[place + 1 :]]
            for split in splits(rest)
            for place in range(len(split))
        ]

    rows = {index: count for index, (count, _) in enumerate(plan)}
    lengths = {index: length for index, (_, length) in enumerate(plan)}
    groups = cheapest_groups(lengths, rows)
    assert sorted(index for group in groups for index in group) == list(range(len(plan)))
    assert sum(map(cost, groups)) == min(sum(map(cost, split)) for split in splits(list(range(len(plan)))))


def test_short_sentences_share_a_run_and_a_long_one_has_its_own() -> None:
    lengths = dict(enumerate([10, 12, 14, 16, 128]))
    assert sorted(map(sorted, cheapest_groups(lengths, dict.fromkeys(lengths, 1)))) == [[0, 1, 2, 3], [4]]


def test_a_request_whose_inputs_disagree_fails_alone() -> None:
    bad = Work({"IDS": np.ones((1, 3), int), "MASK": np.ones((1, 4), int)}, ("N",))
    good = work(2, 5, 0)
    results = run_padded([bad, good], encode, AXES)
    assert isinstance(results[0], BadInputError)
    assert not isinstance(results[1], Exception)


@pytest.mark.parametrize("shapes", [{"X": ["batch", 3]}, {"X": ["batch", "height", "width"]}])
def test_a_file_without_one_variable_length_is_refused(shapes: dict[str, list[object]]) -> None:
    with pytest.raises(LoadError, match="one named axis of any size"):
        find_axes(shapes, {})
