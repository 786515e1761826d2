"""``pb_utils.InferenceRequest`` of the steps: a request that a step gets, and one that it sends to another model."""

from collections.abc import Iterator
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Protocol

import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.fused.messages import Answer, Failure, Question
from triton_ensembles.runtime.fused.responses import normalized, response_of

if TYPE_CHECKING:
    import asyncio

_ARGUMENTS = ("request_id", "correlation_id", "inputs", "requested_output_names", "model_name", "model_version")
_SENDER = "a step of a fused ensemble returns its responses from execute"


class Models(Protocol):
    """The models that a step may call; ``version`` -1 is any."""

    def is_ready(self, name: str, version: int) -> bool:
        """Return whether there is such a model."""

    def refuse_outside(self, name: str, version: int) -> None:
        """Raise TritonModelException for a call while the step's ``execute`` does not run, unless :meth:`answer`
        does."""

    def answer(self, name: str, version: int, question: Question) -> Answer:
        """Return the answer of a model. Raises TritonModelException for a call that Triton does not make."""

    def stream(self, name: str, version: int, question: Question) -> Iterator[Answer]:
        """Yield the answers of a model to ``exec(decoupled=True)``. Raises as :meth:`answer` does."""


class InferenceRequest:
    """A request of a step to another model, with the arguments of ``pb_utils.InferenceRequest``, a real one of which
    has all that is not answered here."""

    __slots__ = ("_model", "_real", "_version")
    # Of each step its own: its threads call one model at a time, while its execute runs, and so no other model.
    calls, executing = Lock(), Event()
    models: Models

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._real = pb_utils.InferenceRequest(*arguments, **named)
        known = dict(zip(_ARGUMENTS, arguments, strict=False)) | named
        self._model, self._version = known["model_name"], known.get("model_version", -1)

    def exec(self, decoupled: bool = False) -> Any:
        """The model's ``InferenceResponse``, or with ``decoupled`` an iterator. Raises TritonModelException."""
        real = self._real
        inputs = real.inputs()
        question = Question(
            id=real.request_id(),
            correlation_id=real.correlation_id(),
            flags=real.flags(),
            timeout=real.timeout(),
            parameters=real.parameters() or "{}",
            inputs={tensor.name(): normalized(tensor.as_numpy()) for tensor in inputs},
            wanted=tuple(real.requested_output_names()),
        )
        if len(question.inputs) < len(inputs):
            names = [tensor.name() for tensor in inputs]
            repeated = next(name for name in names if names.count(name) > 1)
            message = f"{question.tag}input '{repeated}' already exists in request"
            return response_of(Failure.of_call(self._model, message))
        with self.calls:
            if not self.executing.is_set():
                self.models.refuse_outside(self._model, self._version)
            if decoupled:
                return map(response_of, list(self.models.stream(self._model, self._version, question)))
            return response_of(self.models.answer(self._model, self._version, question))

    def async_exec(self, decoupled: bool = False) -> "asyncio.Future[Any]":
        """The same as a future, which is done: the models of one process run one after the other."""
        import asyncio  # which has been imported by whoever awaits this

        future = asyncio.get_running_loop().create_future()
        try:
            future.set_result(self.exec(decoupled))
        except Exception as error:
            future.set_exception(error)
        return future

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class StepRequest(InferenceRequest):
    """A request that a step gets, and that did not come from the server. What steps seldom read is answered by a real
    InferenceRequest, made from the ``arguments``, which takes longer than some steps run. ``parameters`` are JSON as
    the server spells it."""

    __slots__ = ("_arguments", "_inputs", "_parameters", "_sender")

    def __init__(self, parameters: str = "{}", sender: Any = None, **arguments: Any) -> None:
        self._parameters, self._sender, self._arguments = parameters, sender, arguments
        self._inputs: list[Any] = arguments["inputs"]
        self._model, self._version = arguments["model_name"], arguments["model_version"]

    def inputs(self) -> list[Any]:
        return self._inputs[:]

    def parameters(self) -> str:
        return self._parameters

    def is_cancelled(self) -> bool:
        return False

    def get_response_sender(self) -> Any:
        if self._sender is None:
            raise pb_utils.TritonModelException(_SENDER)
        return self._sender

    def __getattr__(self, name: str) -> Any:
        if name == "_real":  # an empty slot
            self._real = pb_utils.InferenceRequest(**self._arguments)
            return self._real
        return getattr(self._real, name)


def request_types(models: Models) -> tuple[type[InferenceRequest], type[StepRequest]]:
    """The two classes for a step that may call ``models``."""
    state = {"__slots__": (), "calls": Lock(), "executing": Event(), "models": models}
    own = type("InferenceRequest", (InferenceRequest,), state)
    return own, type("StepRequest", (StepRequest, own), {"__slots__": ()})
