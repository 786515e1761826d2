"""When answers count as the same."""

import numpy as np
import pytest

from triton_ensembles.measuring.tuning.same_answers import difference
from triton_ensembles.project.examples.request import Array

VECTOR = np.array([[1.0, -2.0, 3.0]], np.float32)


@pytest.mark.parametrize(
    ("found", "wanted", "words"),
    [
        (VECTOR, VECTOR, ""),
        (VECTOR * 1.001, VECTOR, ""),
        (VECTOR * 1.1, VECTOR, "Y of row 1 differs by 0.100 of its length, and 0.032 is allowed"),
        (-VECTOR, VECTOR, "differs by 2.000"),
        (VECTOR[:, :2], VECTOR, "Y of row 1 has the shape [1, 2], and with the present settings [1, 3]"),
        (VECTOR * np.nan, VECTOR, "differs by inf"),
        (VECTOR * np.nan, VECTOR * np.nan, ""),
        (VECTOR * 0, VECTOR * 0, ""),
        (VECTOR, VECTOR * 0, "differs by inf"),
        (np.array([1, 2]), np.array([1, 2]), ""),
        (np.array([1, 3]), np.array([1, 2]), "Y of row 1 is not what the present settings answer"),
        (np.array([b"a"], object), np.array([b"b"], object), "is not what the present settings answer"),
    ],
)
def test_answers_differ_beyond_the_tolerance(found: Array, wanted: Array, words: str) -> None:
    """Otherwise a faster engine that answers something else wins, or bf16 never does."""
    assert words in difference([{"Y": found}], [{"Y": wanted}])
    assert bool(words) == bool(difference([{"Y": found}], [{"Y": wanted}]))


def test_an_output_that_is_missing_differs() -> None:
    """Otherwise an answer without it counts as the same."""
    assert "Y of row 1 is missing" in difference([{}], [{"Y": VECTOR}])
