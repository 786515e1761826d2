"""The rules of loading, which the endpoint and the simulation of plan share."""

import pytest

from triton_ensembles.sagemaker.loading import Unloads


def test_unloads_overlap_that_begin_soon_after_the_first() -> None:
    """Others wait until these have certainly read the list of repositories and ended, or all that run have ended."""
    unloads = Unloads()
    assert unloads.pause(10.0) == 0
    unloads.begin(10.0)
    assert unloads.pause(10.2) == 0
    unloads.begin(10.2)
    assert unloads.pause(10.5) == pytest.approx(0.75)
    assert unloads.pause(11.25) <= 0
    unloads.end()
    assert unloads.pause(10.5) == pytest.approx(0.75)
    unloads.end()
    assert (unloads.pause(10.5), unloads.running) == (0, 0)
