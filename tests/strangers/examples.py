"""A request for each of the strangers' repositories, as KServe v2 has it, and the answer that its code means."""

import json
import math
from typing import Any

import numpy as np
from PIL import Image

from tests.ensembles.clients import saved


def _tensor(name: str, datatype: str, *data: Any, row: int | None = 1) -> dict[str, Any]:
    shape = [len(data)] if row is None else [len(data) // row, row]
    return {"name": name, "datatype": datatype, "shape": shape, "data": list(data)}


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def _softmax(*values: float) -> list[float]:
    return [math.exp(value) / sum(map(math.exp, values)) for value in values]


def _scored(seed: int, features: list[float]) -> float:
    weights = np.random.default_rng(seed).normal(size=len(features))
    return _sigmoid(float(np.dot(weights, features)))


def _risk(amount: float, history: list[float]) -> float:
    """The mean of the networks `tree`, whose version 1 the ensemble names, and `net`."""
    features = [math.log1p(amount), *(value / (max(history) + 1e-6) for value in history)]
    return (_scored(1, features) + _scored(3, features)) / 2


_PLANS = ({"age": 1, "months": 0.5, "spend": 0.5, "plan": "premium"}, {"age": None, "months": 0, "plan": "basic"})

REQUESTS: dict[str, list[dict[str, Any]]] = {
    "sentiment": [_tensor("TEXT", "BYTES", "The movie was great!", "the plot was boring and awful")],
    "photos": [_tensor("IMAGE", "UINT8", *saved(Image.new("RGB", (40, 30), (10, 250, 10)), "PNG"), row=None)],
    "bls": [_tensor("text", "BYTES", "the movie was good", "the plot was not boring or bad at all", row=None)],
    "branches": [
        _tensor("amount", "FP32", 1, 20000),
        _tensor("history", "FP32", *(1, 0, 0, 0, 0, 0, 0, 1), *range(8), row=8),
    ],
    "churn": [_tensor("RECORD", "BYTES", *map(json.dumps, _PLANS))],
}

# The same by hand: the values of words are those of networks.py, and the weights those of its seeds.
ANSWERS: dict[str, dict[str, list[Any]]] = {
    "sentiment": {"LABEL": ["POSITIVE", "NEGATIVE"], "SCORE": [_sigmoid(2 * 3.0), _sigmoid(2 * 5.5)]},
    "photos": {
        "PROBABILITIES": _softmax((10 / 255 - 0.485) / 0.229, (250 / 255 - 0.456) / 0.224, (10 / 255 - 0.406) / 0.225)
    },
    "bls": {"sentiment": ["positive", "negative"], "logits": [-2 / 9, 2 / 9, 5.5 / 9, -5.5 / 9]},
    "branches": {
        "decision": ["accept", "refuse"],
        "risk": [_risk(1, [1, 0, 0, 0, 0, 0, 0, 1]), _risk(20000, [*range(8)])],
    },
    "churn": {"probability": [_scored(4, [1, 0.5, 0.5, 1]), _scored(4, [40, 0, 0, 0])]},
}
