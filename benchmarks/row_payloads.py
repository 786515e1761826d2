"""The example rows that perf sends, one by one, as bodies of InvokeEndpoint."""

import numpy as np
import tritonclient.http as http
from tritonclient.utils import np_to_triton_dtype

from benchmarks.examples import examples_of
from triton_ensembles.deploy.payload import Payload, binary
from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.request import Array


def rows_of(ensemble: str, only: int | None = None) -> list[dict[str, Array]]:
    """The rows of the ensemble's examples for perf, or ``only`` the one of this number. Raises EnsembleError."""
    rows = list(examples_of(ensemble).rows())
    if only is not None and not 0 <= only < len(rows):
        raise EnsembleError(f"{ensemble} has no example row {only}", cure=f"use one from 0 to {len(rows) - 1}")
    return rows if only is None else [rows[only]]


def row_payloads(ensemble: str, only: int | None = None) -> list[Payload]:
    """One for each of :func:`rows_of`, with all outputs."""
    batched = examples_of(ensemble).load[0].batched
    payloads = []
    for row in rows_of(ensemble, only):
        inputs = []
        for name, values in row.items():
            tensor = values[np.newaxis] if batched else values
            infer_input = http.InferInput(name, list(tensor.shape), np_to_triton_dtype(tensor.dtype))
            inputs.append(infer_input.set_data_from_numpy(tensor))
        payloads.append(binary(inputs, []))
    return payloads
