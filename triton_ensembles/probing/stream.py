"""A request over gRPC's stream, which takes every kind of model: decoupled ones and sequences too."""

import queue
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tritonclient.grpc import InferenceServerClient, InferInput, InferRequestedOutput
from tritonclient.utils import np_to_triton_dtype

from triton_ensembles.checking.probe import OutputTensor, Trial
from triton_ensembles.probing.load import LostError, crash
from triton_ensembles.project.examples.request import Request
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import DataType, ModelConfig

_LOOK_SECONDS = 0.5
_MOST_RESPONSES = 1000  # of a model that never ends its answer
_FINAL = "triton_final_response"


def answered(
    server: TritonServer, name: str, request: Request, trial: Trial, configs: Sequence[ModelConfig], seconds: float
) -> Trial:
    """``trial`` with the outputs of the answer of the model called ``name`` to ``request``, or with its failure.
    ``configs``: of the model and its steps. Raises :class:`LostError`: there is no answer within ``seconds``, or the
    server crashed."""
    answers: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()
    outputs: list[OutputTensor] = []
    end = time.monotonic() + seconds
    with InferenceServerClient(server.grpc_url) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        try:
            client.async_stream_infer(
                name,
                [
                    InferInput(tensor, list(values.shape), np_to_triton_dtype(values.dtype)).set_data_from_numpy(values)
                    for tensor, values in request.inputs.items()
                ],
                outputs=[InferRequestedOutput(tensor, classes) for tensor, classes in request.outputs.items()] or None,
                enable_empty_final_response=True,
                **_sequence(configs),
            )
            for _ in range(_MOST_RESPONSES):
                result, error = _next(answers, server, end, seconds)
                if error:
                    return replace(trial, failure=str(getattr(error, "message", error.__str__)()))
                response = result.get_response()
                outputs += [OutputTensor(part.name, part.datatype, tuple(part.shape)) for part in response.outputs]
                if response.parameters[_FINAL].bool_param:
                    break
        finally:
            client.stop_stream(cancel_requests=True)
    return replace(trial, outputs=tuple(outputs))


def _next(answers: Any, server: TritonServer, end: float, seconds: float) -> tuple[Any, Exception | None]:
    """The next response, or its error."""
    while time.monotonic() < end:
        try:
            result, error = answers.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            result = error = None
        if reason := crash(server):
            raise LostError(reason)
        if error or result:
            return result, error
    raise LostError(f"there was no answer within {seconds:.0f} s")


def _sequence(configs: Sequence[ModelConfig]) -> dict[str, Any]:
    """The whole sequence in one request, for a model that takes sequences, or has a step that does."""
    batchers = [config.sequence_batching for config in configs if config.HasField("sequence_batching")]
    if not batchers:
        return {}
    controls = [control for batcher in batchers for tensor in batcher.control_input for control in tensor.control]
    has_text = any(control.data_type == DataType.TYPE_STRING for control in controls)
    return {"sequence_id": "1" if has_text else 1, "sequence_start": True, "sequence_end": True}
