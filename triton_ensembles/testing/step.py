"""A loaded step, as a test uses it: requests of arrays in, arrays or errors out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Self

import numpy as np

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.fused.messages import Answer, Failure, Question
from triton_ensembles.runtime.fused.responses import normalized
from triton_ensembles.runtime.fused.step_inputs import DeclaredTensor, RefusedError
from triton_ensembles.testing.errors import TritonError
from triton_ensembles.testing.limits import guarded
from triton_ensembles.testing.step_models import StepModels
from triton_ensembles.testing.tested_step import TestedStep


@dataclass(frozen=True)
class Request:
    """A request to a step.

    Args:
        inputs: arrays by the name of the input, or lists, which become arrays of the type in config.pbtxt; trailing
            axes of size 1 may be left out of lists.
        outputs: those that are requested; all when it is empty.
        id: of the request.
        parameters: of the request.
        sequence: its correlation id; ``start`` and ``end`` are its flags.
        timeout: in microseconds.
    """

    inputs: Mapping[str, Any]
    outputs: Sequence[str] = ()
    id: str = ""
    parameters: Mapping[str, str | int | bool | float] = field(default_factory=dict)
    sequence: int | str = 0
    start: bool = False
    end: bool = False
    timeout: int = 0


class Step:
    """A step of a test, and a context manager that closes it."""

    def __init__(self, step: TestedStep, models: StepModels, seconds: float) -> None:
        self._step, self._models, self._seconds, self._lock = step, models, seconds, RLock()
        self.model = step.model
        """The step's ``TritonPythonModel``."""
        self.module = step.module
        """The module of model.py, for ``monkeypatch.setattr``."""

    def infer(self, request: Request | None = None, /, **inputs: Any) -> Any:
        """Send one request, or the inputs of one: the arrays by output, strings as bytes; of a decoupled model a list
        of them, in which a :class:`TritonError` may be.

        Raises:
            TritonError: Triton refuses the request, or the step answers with an error or fails; with its exception as
                the cause.
            EnsembleError: the step ends the process, does not return, or leaves a request without an answer.
        """
        __tracebackhide__ = True
        (answer,) = self.infer_batch([request or Request(inputs)])
        if isinstance(answer, TritonError):
            raise answer from self._step.cause
        return answer

    def infer_batch(self, requests: Sequence[Request]) -> list[Any]:
        """Send requests that ``execute`` gets together: what :meth:`infer` returns, or the TritonError, of each."""
        __tracebackhide__ = True
        questions = [self._question(request) for request in requests]
        self._models.error = None
        try:
            with self._lock, guarded(self._step.folder, "execute", self._seconds):
                answers = self._step.answers(questions)
        finally:
            if error := self._models.error:
                raise error
        return [self._answered(each) for each in answers]

    def close(self) -> None:
        """Call the step's ``finalize``, and that of the models that it called."""
        with guarded(self._step.folder, "finalize", self._seconds):
            self._models.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _question(self, request: Request) -> Question:
        declared, batched = self._step.declared.inputs, self._step.declared.rows > 0
        arrays = {name: _array(name, value, declared.get(name), batched) for name, value in request.inputs.items()}
        parameters = json.dumps(dict(request.parameters), separators=(",", ":"), ensure_ascii=False)
        flags = request.start + 2 * request.end
        wanted = tuple(request.outputs)
        return Question(request.id, request.sequence, flags, request.timeout, parameters, arrays, wanted)

    def _answered(self, answers: list[Answer] | RefusedError) -> Any:
        if isinstance(answers, RefusedError):
            return TritonError(str(answers), "INVALID_ARG")
        found = [TritonError(*each) if isinstance(each, Failure) else each for each in answers]
        return found if self._step.is_decoupled else found[0]


def _array(name: str, value: Any, tensor: DeclaredTensor | None, batched: bool) -> Array:
    """The array of an input as a client would send it."""
    if isinstance(value, np.ndarray):
        return normalized(value)
    try:
        array = np.asarray(value, np.object_ if tensor and tensor.data_type == "TYPE_STRING" else None)
    except ValueError as error:
        raise EnsembleError(f"the input {name!r} is no array: {error}") from error
    if tensor is None or tensor.dtype is None:
        return normalized(array)
    if array.dtype != tensor.dtype and array.dtype.kind in "biuf":
        converted = array.astype(tensor.dtype)
        is_kept = array.dtype.kind == converted.dtype.kind == "f" or np.array_equal(array, converted)
        array = converted if is_kept or not array.size else array
    left_out = tensor.dims[array.ndim - batched :] if array.ndim >= batched else ()
    return normalized(array.reshape(*array.shape, *left_out) if {*left_out} == {1} else array)
