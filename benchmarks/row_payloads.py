"""The example rows that perf sends, one by one, as bodies of InvokeEndpoint."""

import numpy as np
import tritonclient.http as http
from tritonclient.utils import np_to_triton_dtype

from benchmarks.examples import examples_of
from triton_ensembles.deploy.payload import Payload, binary


def row_payloads(ensemble: str) -> list[Payload]:
    """One for each row of the ensemble's examples for perf, with all outputs requested. Raises EnsembleError."""
    examples = examples_of(ensemble)
    payloads = []
    for row in examples.rows():
        inputs = []
        for name, values in row.items():
            tensor = values[np.newaxis] if examples.load[0].batched else values
            tensor_input = http.InferInput(name, list(tensor.shape), np_to_triton_dtype(tensor.dtype))
            inputs.append(tensor_input.set_data_from_numpy(tensor))
        payloads.append(binary(inputs, []))
    return payloads
