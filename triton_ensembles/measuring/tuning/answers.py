"""Whether a candidate answers as the present settings do."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import tritonclient.http as http
from tritonclient.utils import np_to_triton_dtype

from triton_ensembles.artifacts.accuracy import LEAST_COSINE
from triton_ensembles.project.examples.request import Array

Row = Mapping[str, Array]
MOST_DIFFERENCE = math.sqrt(2 * (1 - LEAST_COSINE))
"""The difference of two vectors of one length with that cosine, relative to their length."""

_MOST_ROWS = 16


def answers(client: http.InferenceServerClient, model: str, rows: Sequence[Row], *, batched: bool) -> list[Row]:
    """The outputs of ``model`` for each of the first rows, all under way at once so that they are batched together.

    Args:
        client: one with a concurrency of more than one.
        rows: inputs by name, without the batch axis.
        batched: whether the model has one.

    Raises:
        InferenceServerException: the server refuses one.
    """
    waiting = [client.async_infer(model, _inputs(row, batched=batched)) for row in rows[:_MOST_ROWS]]
    row_outputs: list[Row] = []
    for request in waiting:
        result = request.get_result()
        outputs = result.get_response().get("outputs", [])
        row_outputs.append({output["name"]: result.as_numpy(output["name"]) for output in outputs})
    return row_outputs


def difference(answered: Sequence[Row], present: Sequence[Row]) -> str:
    """How ``answered`` differs from ``present`` beyond the tolerance of accuracy checks, in one line; "" if nowhere.

    Floating-point tensors may differ by MOST_DIFFERENCE, others not at all.
    """
    for number, (outputs, expected) in enumerate(zip(answered, present, strict=True), 1):
        for name, reference in expected.items():
            if (values := outputs.get(name)) is None or values.shape != reference.shape:
                shape = "is missing" if values is None else f"has the shape {list(values.shape)}"
                return f"{name} of row {number} {shape}, and with the present settings {list(reference.shape)}"
            if reference.dtype.kind != "f":
                if not np.array_equal(values, reference):
                    return f"{name} of row {number} is not what the present settings answer"
            elif (by := _distance(values, reference)) > MOST_DIFFERENCE:
                return f"{name} of row {number} differs by {by:.3f} of its length, and {MOST_DIFFERENCE:.3f} is allowed"
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
    return float(apart / length) if length else (math.inf if apart > MOST_DIFFERENCE else 0.0)


def _inputs(row: Row, *, batched: bool) -> list[http.InferInput]:
    tensors = []
    for name, values in row.items():
        array = values[np.newaxis] if batched else values
        tensor = http.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensors.append(tensor.set_data_from_numpy(array))
    return tensors
