"""A step of a test: the fused runtime's, which may also answer through response senders."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.fused.ensemble import FusedStep
from triton_ensembles.runtime.fused.messages import Answer, Failure, Question
from triton_ensembles.runtime.fused.python_step import PythonStep, WrongReturnError
from triton_ensembles.runtime.fused.responses import answer_of
from triton_ensembles.runtime.fused.step import StepInput, StepPlace
from triton_ensembles.runtime.fused.step_inputs import RefusedError
from triton_ensembles.runtime.fused.step_request import Models
from triton_ensembles.testing.limits import Stopped
from triton_ensembles.testing.native import InferenceResponse, ResponseSender, TritonModelException
from triton_ensembles.testing.stub_modules import StubModules

_LOOK_SECONDS = 0.05


class TestedStep(PythonStep):
    """A step whose requests have any number of answers. Raises what importing or initializing it raises.

    Source: python_backend r24.10, pb_stub.cc (ProcessRequests, ProcessReturnedResponses).
    """

    __test__ = False  # for pytest

    def __init__(self, place: StepPlace, models: Models) -> None:
        policy = place.plan.config.get("model_transaction_policy") or {}
        self.is_decoupled, self.folder = bool(policy.get("decoupled")), place.folder
        self.declared = FusedStep.of(place, self)
        self.cause: BaseException | None = None  # of the last failure
        super().__init__(place, models, StubModules)

    @property
    def model(self) -> Any:
        """The instance of the step's ``TritonPythonModel``."""
        return self._model

    @property
    def module(self) -> Any:
        """The module of its model.py."""
        return self._modules.module

    def answers(self, questions: Sequence[Question]) -> list[list[Answer] | RefusedError]:
        """Return the answers to requests that come together, or why Triton refuses one. Raises EnsembleError if one
        would wait for ever."""
        results: list[Any] = []
        for question in questions:
            try:
                results.append(self.declared.accepted(question))
            except RefusedError as error:
                results.append(error)
        batch = [result for result in results if isinstance(result, StepInput)]
        answered = iter(self._answers(batch) if batch else [])
        return [next(answered) if isinstance(result, StepInput) else result for result in results]

    def _answers(self, batch: Sequence[StepInput]) -> Iterator[list[Answer]]:
        if self.is_executing:
            yield from ([result] for result in self.run(batch))
            return
        self._senders: list[ResponseSender] = []
        self.cause = None
        for step_input, result, sender in zip(batch, self.run(batch), self._senders, strict=True):
            sent = [answer_of(response, step_input.wanted) for response in sender.sent]
            if not sender.closed.is_set():  # else the client hears no more
                if not isinstance(result, Failure):
                    raise self._unanswered(step_input)
                sent.append(result)
            yield [self.declared.passed(step_input.question, answer) for answer in sent]

    def sender(self) -> ResponseSender:
        self._senders.append(ResponseSender(self.is_decoupled))
        return self._senders[-1]

    def execute(self, requests: Sequence[Any]) -> Any:
        before = {*threading.enumerate()}
        returned = super().execute(requests)
        if returned is None or self.is_decoupled:
            for sender in self._senders:  # as long as a thread of the step may send
                while not sender.closed.wait(_LOOK_SECONDS) and {*threading.enumerate()} - before:
                    pass
        return returned

    def responses(self, returned: Any, requests: Sequence[Any]) -> Sequence[Any]:
        if returned is not None:
            if self.is_decoupled:
                using = f"Python model '{self._place.instance}' is using the decoupled mode"
                raise WrongReturnError(f"{using} and the execute function must return None.")
            # None: there is an answer of the sender, or the request is rescheduled
            given = (
                [InferenceResponse() if each is None else each for each in returned]
                if isinstance(returned, list)
                else returned
            )
            super().responses(given, requests)
            for sender, response in zip(self._senders, returned, strict=True):
                try:
                    if response is not None:
                        sender.take(response)
                except TritonModelException as error:
                    raise WrongReturnError(str(error)) from error
        return [InferenceResponse()] * len(requests)

    def _unanswered(self, step_input: StepInput) -> EnsembleError:
        message = f"execute has returned, and the request {step_input.question.id!r} has no last answer"
        cure = "return a response for it, or send the flags TRITONSERVER_RESPONSE_COMPLETE_FINAL"
        return EnsembleError(
            f"{message}: its client waits for ever", path=self._place.version_folder / "model.py", cure=cure
        )

    def failed(self, error: BaseException) -> Failure:
        if isinstance(error, KeyboardInterrupt | Stopped):
            raise error
        self.cause = error
        return super().failed(error)
