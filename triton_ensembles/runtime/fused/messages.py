"""Messages between the stub and the worker about requests, and how they are written for the channel."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from triton_ensembles.runtime.backends.common.batching import Array


class Question(NamedTuple):
    """A request to the ensemble. All steps get its id, correlation id, flags, timeout and parameters."""

    id: str
    correlation_id: int | str
    flags: int
    timeout: int
    parameters: str  # JSON
    inputs: Mapping[str, Array]  # axis 0 is the batch when the ensemble has a batch axis
    wanted: Sequence[str]  # names of the requested outputs

    @property
    def tag(self) -> str:
        """Return how Triton begins its messages about a request (core r24.10, InferenceRequest::LogRequest)."""
        return f"[request id: {self.id or '<id_unknown>'}] "


class Failure(NamedTuple):
    """Why a request has no answer: ``code`` is the name of a ``TritonError`` code."""

    message: str
    code: str = "INTERNAL"

    @classmethod
    def of_call(cls, model: str, reason: object) -> "Failure":
        """Make the failure of a call to a model that Triton refuses (python_backend r24.10, request_executor.cc)."""
        return cls(f"Model {model} - Error when running inference: {reason}")


Answer = Mapping[str, Array] | Failure
"""Arrays by the ensemble's output, or the error."""

# A channel takes plain values and a list of arrays: a text below is the name of the next array.


def written_questions(questions: Sequence[Question]) -> tuple[list[Any], list[Array]]:
    arrays: list[Array] = []
    for question in questions:
        arrays += question.inputs.values()
    return [(*item[:5], tuple(item.inputs), tuple(item.wanted)) for item in questions], arrays


def read_questions(written: Sequence[Any], arrays: Sequence[Array]) -> list[Question]:
    following = iter(arrays)
    # the names end before the arrays
    return [
        Question(id_, correlation_id, flags, timeout, parameters, dict(zip(names, following, strict=False)), outputs)
        for id_, correlation_id, flags, timeout, parameters, names, outputs in written
    ]


def written_answers(answers: Sequence[Answer]) -> tuple[list[Any], list[Array]]:
    arrays: list[Array] = []
    for answer in answers:
        if not isinstance(answer, Failure):
            arrays += answer.values()
    return [(tuple(item), None) if isinstance(item, Failure) else (None, tuple(item)) for item in answers], arrays


def read_answers(written: Sequence[Any], arrays: Sequence[Array]) -> list[Answer]:
    following = iter(arrays)
    return [Failure(*failure) if failure else dict(zip(names, following, strict=False)) for failure, names in written]
