"""Comparison of a candidate's answers with those of the present settings."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import tritonclient.http as http

from triton_ensembles.artifacts.accuracy import LEAST
from triton_ensembles.project.examples.request import Array, infer_inputs

Row = Mapping[str, Array]
_MOST_ROWS = 16
_ZERO = 0.03  # the length of a vector that is as good as none


def answers(client: http.InferenceServerClient, model: str, rows: Sequence[Row], *, batched: bool) -> list[Row]:
    """The outputs of ``model`` for each of the first rows, all under way at once so that they are batched together.

    Args:
        client: one with a concurrency of more than one.
        rows: inputs by name, without the batch axis.
        batched: whether the model has one.

    Raises:
        InferenceServerException: the server refuses one.
    """
    axes = np.newaxis if batched else ...
    requests = [infer_inputs({name: values[axes] for name, values in row.items()}) for row in rows[:_MOST_ROWS]]
    waiting = [client.async_infer(model, inputs) for inputs in requests]
    row_outputs: list[Row] = []
    for request in waiting:
        result = request.get_result()
        outputs = result.get_response().get("outputs", [])
        row_outputs.append({output["name"]: result.as_numpy(output["name"]) for output in outputs})
    return row_outputs


def difference(answered: Sequence[Row], present: Sequence[Row], precision: str = "bf16") -> str:
    """Return how ``answered`` differs from ``present`` beyond the tolerance of accuracy checks, in one line; "" if
    nowhere.

    Floating-point tensors may differ as two vectors of one length do that have the least cosine of the check for
    ``precision``, "bf16" or "int8"; others not at all.
    """
    most = math.sqrt(2 * (1 - LEAST[precision].least_cosine))
    for number, (outputs, expected) in enumerate(zip(answered, present, strict=True), 1):
        for name, reference in expected.items():
            if (values := outputs.get(name)) is None or values.shape != reference.shape:
                shape = "is missing" if values is None else f"has the shape {list(values.shape)}"
                return f"{name} of row {number} {shape}, and with the present settings {list(reference.shape)}"
            if reference.dtype.kind != "f":
                if not np.array_equal(values, reference):
                    return f"{name} of row {number} is not what the present settings answer"
            elif (by := _distance(values, reference)) > most:
                return f"{name} of row {number} differs by {by:.3f} of its length, and {most:.3f} is allowed"
    return ""


def _distance(values: Array, reference: Array) -> float:
    """The length of the difference, relative to that of ``reference``; infinite where only one is a number."""
    answered, expected = values.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
    finite = np.isfinite(expected)
    if (
        not np.array_equal(answered[~finite], expected[~finite], equal_nan=True)
        or not np.isfinite(answered[finite]).all()
    ):
        return math.inf
    length, apart = np.linalg.norm(expected[finite]), np.linalg.norm(answered[finite] - expected[finite])
    return float(apart / length) if length else (math.inf if apart > _ZERO else 0.0)
