"""What a client gets for a request: the answer bit for bit, or the error, without the folders in tracebacks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import tritonclient.grpc as grpc
from tritonclient.utils import np_to_triton_dtype

from tests.runtime.fused.dags import Request

SECONDS = 60  # a request that takes longer hangs


def answer(client: grpc.InferenceServerClient, model: str, request: Request) -> Any:
    inputs = []
    for name, array in request.inputs.items():
        tensor = grpc.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array)
        inputs.append(tensor)
    outputs = [grpc.InferRequestedOutput(name) for name in request.outputs]
    try:
        result = client.infer(
            model,
            inputs,
            outputs=outputs,
            request_id=request.id,
            sequence_id=request.sequence,
            parameters=request.parameters,
            timeout=request.timeout,
            client_timeout=SECONDS,
        )
    except grpc.InferenceServerException as error:
        return str(error.status()), re.sub(r"/[^\n:]*/", "", str(error.message()))
    return {name: _bits(result, name) for name in sorted(each.name for each in result.get_response().outputs)}


def _bits(result: grpc.InferResult, name: str) -> tuple[Any, ...]:
    array = result.as_numpy(name)
    if array is None:
        return (name, None)
    output = result.get_output(name)
    content = array.tolist() if array.dtype == np.object_ else array.tobytes()
    return output.datatype, tuple(output.shape), array.shape, content
