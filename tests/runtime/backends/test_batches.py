"""backends/common: batching.py and padding.py join the requests of a batch, and split the answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.runtime.backends.common.batching import Array, BadInputError, Request, run_batch
from triton_ensembles.runtime.backends.common.padding import find_axes, run_padded

AXES = find_axes(
    {"IDS": ["batch", "tokens"], "MASK": ["batch", "tokens"]}, {"Y": ["batch", "tokens", 2], "N": ["batch"]}
)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.booleans()), max_size=12))
def test_each_request_gets_its_own_rows_when_others_fail(plan: list[tuple[int, int, bool]]) -> None:
    """Otherwise answers would be swapped, or one bad request would fail the others."""
    runs: list[int] = []

    def double(inputs: Mapping[str, Array], wanted: tuple[str, ...]) -> list[Array]:
        runs.append(len(inputs["X"]))
        if (inputs["X"] < 0).any():
            raise RuntimeError("negative")
        return [inputs["X"] * (2 if name == "DOUBLE" else 1) for name in wanted]

    requests = []
    for number, (rows, width, bad) in enumerate(plan):
        inputs = {"X": np.full((rows, width), -1.0 if bad else number + 1.0)}
        requests.append(Request(inputs, ("DOUBLE",) if number % 2 else ("DOUBLE", "X")))
    for request, result, (_, _, bad) in zip(requests, run_batch(requests, double, batched=True), plan, strict=True):
        if bad:
            assert isinstance(result, RuntimeError)
        else:
            assert not isinstance(result, Exception)
            assert tuple(sorted(result)) == request.wanted
            np.testing.assert_array_equal(result["DOUBLE"], request.inputs["X"] * 2)
    if not any(bad for _, _, bad in plan):
        assert len(runs) == len({width for _, width, _ in plan})  # one run for each shape


def encode(inputs: Mapping[str, Array], wanted: tuple[str, ...]) -> list[Array]:
    """Like an encoder that masks: the output of each token depends on all unmasked tokens of its row."""
    if (inputs["IDS"] == 999).any():
        raise RuntimeError("999 is beyond the vocabulary")
    assert inputs["IDS"].size  # engines cannot take tensors without elements
    total = (inputs["IDS"] * inputs["MASK"]).sum(axis=1)
    outputs = {"Y": np.stack([inputs["IDS"], np.broadcast_to(total[:, None], inputs["IDS"].shape)], axis=2), "N": total}
    return [outputs[name] for name in wanted]


def padded(lengths: list[int], seed: int = 0) -> Request:
    """One request with rows of these lengths, as wide as the longest of them."""
    inside = np.arange(max(1, *lengths)) < np.array(lengths)[:, None]
    ids = np.random.default_rng(seed).integers(1, 100, inside.shape)
    return Request({"IDS": ids * inside, "MASK": inside.astype(int)}, ("Y", "N"))


@given(st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=5), max_size=10))
def test_each_padded_request_gets_the_answer_that_it_would_get_alone(plan: list[list[int]]) -> None:
    requests = [padded(lengths, seed) for seed, lengths in enumerate(plan)]
    for each, result in zip(requests, run_padded(requests, encode, AXES), strict=True):
        assert not isinstance(result, Exception)
        vectors, totals = encode(each.inputs, ("Y", "N"))
        np.testing.assert_array_equal(result["N"], totals)
        np.testing.assert_array_equal(result["Y"], vectors * each.inputs["MASK"][:, :, None])
        assert all(array.flags.c_contiguous for array in result.values())


def test_a_padded_request_that_is_wrong_fails_alone() -> None:
    """Because the engine refuses it, or because its inputs disagree."""
    requests = [padded([4, 9]), padded([5]), padded([70, 5]), padded([3])]
    requests[1].inputs["IDS"][0, 0] = 999
    requests.append(Request({"IDS": np.ones((1, 3), int), "MASK": np.ones((1, 4), int)}, ("N",)))
    *results, refused = run_padded(requests, encode, AXES)
    assert isinstance(refused, BadInputError)
    assert "999" in str(results.pop(1))
    for each, result in zip((requests[0], *requests[2:4]), results, strict=True):
        assert not isinstance(result, Exception)
        np.testing.assert_array_equal(result["N"], encode(each.inputs, ("N",))[0])


def test_long_rows_of_a_request_do_not_lengthen_its_short_ones() -> None:
    """Otherwise one long sentence among many would cost as much as if all were long."""
    shapes = []

    def run(inputs: Mapping[str, Array], wanted: tuple[str, ...]) -> list[Array]:
        shapes.append(inputs["IDS"].shape)
        return encode(inputs, wanted)

    run_padded([padded([10, 128, 12]), padded([14])], run, AXES)
    assert sorted(shapes) == [(1, 128), (3, 14)]
