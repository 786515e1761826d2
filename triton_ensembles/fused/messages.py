"""What the stub and the worker tell each other about requests: plain values that can be pickled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_ensembles.backends.common.batching import Array


@dataclass(frozen=True)
class Question:
    """A request to the ensemble.

    Attributes:
        id, correlation_id, flags, timeout, parameters: those of the request, which all steps get; parameters are JSON.
        inputs: arrays by the ensemble's input; axis 0 is the batch when the ensemble has a batch axis.
        wanted: names of the requested outputs.
    """

    id: str
    correlation_id: int | str
    flags: int
    timeout: int
    parameters: str
    inputs: Mapping[str, Array]
    wanted: Sequence[str]

    @property
    def tag(self) -> str:
        """How Triton begins its messages about a request (core r24.10, InferenceRequest::LogRequest)."""
        return f"[request id: {self.id or '<id_unknown>'}] "


@dataclass(frozen=True)
class Failure:
    """Why a request has no answer: ``code`` is the name of a ``TritonError`` code."""

    message: str
    code: str = "INTERNAL"


Answer = Mapping[str, Array] | Failure
"""Arrays by the ensemble's output, or the error."""
