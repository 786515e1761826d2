"""Answers as the ``InferenceResponse`` of Triton's Python backend, and the reverse."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.fused.messages import Answer, Failure

_CODES = ("UNKNOWN", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED")


def response_of(answer: Answer) -> Any:
    """The InferenceResponse with an answer."""
    if isinstance(answer, Failure):
        error = pb_utils.TritonError(answer.message, getattr(pb_utils.TritonError, answer.code))
        return pb_utils.InferenceResponse(output_tensors=[], error=error)
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in answer.items()])


def answer_of(response: Any, wanted: Sequence[str]) -> Answer:
    """The outputs ``wanted`` of what a step returned, or its error."""
    if response.has_error():
        error = response.error()
        code = error.code()
        name = next((name for name in _CODES if getattr(pb_utils.TritonError, name, None) == code), "INTERNAL")
        return Failure(error.message(), name)
    # Of two of one name Triton sends the first.
    tensors = {tensor.name(): tensor for tensor in reversed(response.output_tensors())}
    return {name: normalized(tensors[name].as_numpy()) for name in wanted if name in tensors}


def normalized(array: Array) -> Array:
    """A copy, which the step cannot change any more, as the next model gets it: strings as bytes, in C order."""
    if array.dtype.kind in "OSU":
        flat = [item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1).tolist()]
        strings = np.empty(len(flat), np.object_)
        strings[:] = flat
        return strings.reshape(array.shape)
    return np.array(array, order="C")
