"""Both gateways must answer the same, or their speeds mean nothing."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.gateway_requests import MODELS, difference, target_of


def label(name: str, score: float) -> dict[str, Any]:
    return {"label": name, "score": score}


def thing(name: str, score: float, box: list[float]) -> dict[str, Any]:
    return {"label": name, "score": score, "box": box}


BEST = [label("cat", 0.5), label("dog", 0.2), label("cow", 0.1)]


@pytest.mark.parametrize(
    "other",
    [
        BEST,
        [label("cat", 0.5008), label("dog", 0.1995), label("cow", 0.1)],
        [label("cat", 0.5), label("dog", 0.2), label("hen", 0.0999)],  # as likely as the last: either may be left out
    ],
)
def test_nearly_the_same_results_agree(other: list[dict[str, Any]]) -> None:
    assert difference(BEST, other, 0.01) == difference(other, BEST, 0.01) == ""


@pytest.mark.parametrize(
    "other",
    [
        [label("dog", 0.5), label("cat", 0.2), label("cow", 0.1)],
        [label("cat", 0.51), label("dog", 0.2), label("cow", 0.1)],
        [label("cat", 0.5), label("hen", 0.2), label("cow", 0.1)],
        [],
    ],
)
def test_other_results_do_not(other: list[dict[str, Any]]) -> None:
    assert difference(BEST, other, 0.01)
    assert difference(other, BEST, 0.01)


def test_small_scores_are_compared_as_strictly_as_large_ones() -> None:
    """The likeliest of 30,000 words may have a score of a hundredth."""
    words = [{"token": "one", "score": 0.02}, {"token": "two", "score": 0.01}]
    assert difference(words, [words[0], {"token": "six", "score": 0.015}], 0.01)


def test_boxes_may_differ_by_what_decoders_do() -> None:
    ours = [thing("cat", 0.9, [10, 10, 50, 50])]
    assert not difference(ours, [thing("cat", 0.9, [11, 10, 50, 49.5])], 0.01)
    assert difference(ours, [thing("cat", 0.9, [20, 10, 50, 50])], 0.01)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_has_several_requests(model: str) -> None:
    assert len(set(target_of(model, 8080).requests)) >= 2
