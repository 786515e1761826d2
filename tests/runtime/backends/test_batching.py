"""backends/common/batching.py joins the requests of a batch and splits the answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from triton_ensembles.runtime.backends.common.batching import Array, Request, run_batch

plans = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.booleans()), min_size=0, max_size=12)


@given(plans)
def test_each_request_gets_its_own_rows_when_others_fail(plan: list[tuple[int, int, bool]]) -> None:
    """Otherwise answers would be swapped, or one bad request would fail the others."""
    runs: list[int] = []

    def double(inputs: Mapping[str, Array], wanted: tuple[str, ...]) -> list[Array]:
        runs.append(len(inputs["X"]))
        if (inputs["X"] < 0).any():
            raise RuntimeError("negative")
        return [inputs["X"] * (2 if name == "DOUBLE" else 1) for name in wanted]

    requests = [
        Request(
            {"X": np.full((rows, width), -1.0 if bad else number + 1.0)}, ("DOUBLE",) if number % 2 else ("X", "DOUBLE")
        )
        for number, (rows, width, bad) in enumerate(plan)
    ]
    results = run_batch(requests, double, batched=True)
    for request, result, (_, _, bad) in zip(requests, results, plan, strict=True):
        if bad:
            assert isinstance(result, RuntimeError)
        else:
            assert not isinstance(result, Exception)
            assert tuple(sorted(result)) == tuple(sorted(request.wanted))
            np.testing.assert_array_equal(result["DOUBLE"], request.inputs["X"] * 2)
    if not any(bad for _, _, bad in plan):
        assert len(runs) == len({width for _, width, _ in plan})  # one run for each shape
