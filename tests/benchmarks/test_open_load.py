"""The requests that plans and endpoints are compared with."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.open_load import arrivals


def test_arrivals_are_poisson_and_the_same_for_one_seed() -> None:
    """Otherwise the endpoint gets another traffic than the one that was planned."""
    rates = [6.0, 3.0, 1.0]
    times, models = arrivals(rates, 1000.0, seed=1)
    assert (times, models) == arrivals(rates, 1000.0, seed=1)
    assert times == sorted(times)
    assert len(times) == pytest.approx(10_000, rel=0.05)
    assert [models.count(number) / 1000 for number in range(3)] == pytest.approx(rates, rel=0.1)
    gaps = np.diff(times)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)  # of exponential times
