"""backends/common/padding.py: requests of different lengths in one run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.runtime.backends.common.batching import Array, BadInputError, Request
from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.runtime.backends.common.padding import RUN_COST, cheapest_groups, find_axes, run_padded

AXES = find_axes(
    {"IDS": ["batch", "tokens"], "MASK": ["batch", "tokens"]}, {"Y": ["batch", "tokens", 2], "N": ["batch"]}
)


def encode(inputs: Mapping[str, Array], wanted: tuple[str, ...]) -> list[Array]:
    """Like an encoder that masks: the output of each token depends on all unmasked tokens of its row."""
    total = (inputs["IDS"] * inputs["MASK"]).sum(axis=1)
    outputs = {"Y": np.stack([inputs["IDS"], np.broadcast_to(total[:, None], inputs["IDS"].shape)], axis=2), "N": total}
    return [outputs[name] for name in wanted]


def request(lengths: list[int], seed: int) -> Request:
    """One request with rows of these lengths, as wide as the longest of them."""
    inside = np.arange(max(lengths)) < np.array(lengths)[:, None]
    ids = np.random.default_rng(seed).integers(1, 100, inside.shape)
    return Request({"IDS": ids * inside, "MASK": inside.astype(int)}, ("Y", "N"))


plans = st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=5), max_size=10)


@given(plans)
def test_each_request_gets_the_answer_that_it_would_get_alone(plan: list[list[int]]) -> None:
    requests = [request(lengths, seed) for seed, lengths in enumerate(plan)]
    for each, result in zip(requests, run_padded(requests, encode, AXES), strict=True):
        assert not isinstance(result, Exception)
        vectors, totals = encode(each.inputs, ("Y", "N"))
        np.testing.assert_array_equal(result["N"], totals)
        np.testing.assert_array_equal(result["Y"], vectors * each.inputs["MASK"][:, :, None])
        assert all(array.flags.c_contiguous for array in result.values())


def test_long_rows_of_a_request_do_not_lengthen_its_short_ones() -> None:
    """Otherwise one long sentence among many would cost as much as if all were long."""
    shapes = []

    def run(inputs: Mapping[str, Array], wanted: tuple[str, ...]) -> list[Array]:
        shapes.append(inputs["IDS"].shape)
        return encode(inputs, wanted)

    run_padded([request([10, 128, 12], 0), request([14], 1)], run, AXES)
    assert sorted(shapes) == [(1, 128), (3, 14)]


@given(st.lists(st.integers(1, 128), min_size=1, max_size=7))
def test_no_split_is_cheaper(lengths: list[int]) -> None:
    def cost(group: list[int]) -> float:
        return RUN_COST + len(group) * max(lengths[index] for index in group)

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

    groups = cheapest_groups(lengths)
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    assert sum(map(cost, groups)) == min(sum(map(cost, split)) for split in splits(list(range(len(lengths)))))


def test_a_request_whose_inputs_disagree_fails_alone() -> None:
    bad = Request({"IDS": np.ones((1, 3), int), "MASK": np.ones((1, 4), int)}, ("N",))
    good = request([5, 3], 0)
    results = run_padded([bad, good], encode, AXES)
    assert isinstance(results[0], BadInputError)
    assert not isinstance(results[1], Exception)


def test_a_request_that_the_engine_refuses_fails_alone() -> None:
    def run(inputs: Mapping[str, Array], wanted: tuple[str, ...]) -> list[Array]:
        if (inputs["IDS"] == 999).any():
            raise RuntimeError("999 is beyond the vocabulary")
        return encode(inputs, wanted)

    requests = [request([4, 9], 0), request([5], 1), request([70, 5], 2)]
    requests[1].inputs["IDS"][0, 0] = 999
    first, second, third = run_padded(requests, run, AXES)
    assert "999" in str(second)
    for each, result in ((requests[0], first), (requests[2], third)):
        assert not isinstance(result, Exception)
        np.testing.assert_array_equal(result["N"], encode(each.inputs, ("N",))[0])


def test_a_row_of_only_padding_is_answered() -> None:
    (result,) = run_padded(
        [Request({"IDS": np.zeros((2, 3), int), "MASK": np.zeros((2, 3), int)}, ("Y", "N"))], encode, AXES
    )
    assert not isinstance(result, Exception)
    assert result["Y"].shape == (2, 3, 2) and result["N"].tolist() == [0, 0]


@pytest.mark.parametrize("shapes", [{"X": ["batch", 3]}, {"X": ["batch", "height", "width"]}])
def test_a_file_without_one_variable_length_is_refused(shapes: dict[str, list[object]]) -> None:
    with pytest.raises(LoadError, match="one named axis of any size"):
        find_axes(shapes, {})
