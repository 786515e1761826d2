"""Models that steps call (Business Logic Scripting): they run in the process of the steps, which has all of them.

Source of the messages: python_backend r24.10, request_executor.cc and infer_request.cc, and core r24.10,
infer_request.cc and model.cc. What they say was compared with the server's answers.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.fused.ensemble import FusedStep
from triton_ensembles.runtime.fused.messages import Answer, Failure, Question
from triton_ensembles.runtime.fused.plan import Plan
from triton_ensembles.runtime.fused.step import StepRunner
from triton_ensembles.runtime.fused.step_inputs import RefusedError

ONLY_IN_EXECUTE = "BLS is only supported during the 'execute' function."
NOT_READY = "Failed for execute the inference request. Model '{}' is not ready."
_DECOUPLED = "a fused ensemble answers each call once: exec(decoupled=True) is not possible in it"
_OUTLIVES = "a step of a fused ensemble calls '{}' only while its execute runs: wait there for the thread that does it"


class CalledModels:
    """The models of a fused ensemble by the names that their callers use: that of the model's folder, and that by which
    the drawn form knows it (``args["model_name"]``)."""

    def __init__(self) -> None:
        self._models: dict[str, tuple[int, FusedStep]] = {}
        self._entering: Callable[[int], int]

    def open(self, plan: Plan, loaded: Mapping[str, FusedStep], entering: Callable[[int], int]) -> None:
        """Answer calls from now on. ``loaded``: by the names in ``plan``; ``entering``: see :class:`Ensemble`."""
        self._entering = entering
        for number, step in reversed(list(enumerate(plan.models))):
            model = loaded[step.name]
            self._models[step.name] = self._models[model.model] = (number, model)

    def shrink(self) -> None:
        """Give back what the models keep of the largest batch."""
        for runner in self._runners():
            runner.shrink()

    def close(self) -> None:
        """Unload the models, none of which may call another any more."""
        runners, self._models = self._runners(), {}
        for runner in runners:
            runner.close()

    def _runners(self) -> Collection[StepRunner]:
        return {id(model.runner): model.runner for _, model in self._models.values()}.values()

    def is_ready(self, name: str, version: int) -> bool:
        return name in self._models and version in (-1, int(self._models[name][1].plan.version))

    def refuse_outside(self, name: str, version: int) -> None:
        """Raise TritonModelException for a call of a thread that has outlived its step's ``execute``."""
        if self.is_ready(name, version):
            raise pb_utils.TritonModelException(_OUTLIVES.format(name))

    def stream(self, *_: Any) -> NoReturn:
        """Raise TritonModelException: there are no decoupled models."""
        raise pb_utils.TritonModelException(_DECOUPLED)

    def answer(self, name: str, version: int, question: Question) -> Answer:
        """The answer of a model; ``version`` -1 is any. Raises TritonModelException outside of ``execute``."""
        if not self._models:
            raise pb_utils.TritonModelException(ONLY_IN_EXECUTE)
        try:
            if not self.is_ready(name, version):
                raise RefusedError(NOT_READY.format(name))
            number, model = self._models[name]
            step_input = model.accepted(question)
        except RefusedError as error:
            return Failure.of_call(name, error)
        caller = self._entering(number)
        (result,) = model.runner.run([step_input])
        self._entering(caller)
        # Of an error, the code does not reach the caller.
        return Failure(result.message) if isinstance(result, Failure) else model.passed(question, result)


MODELS = CalledModels()
"""Those of this process."""
