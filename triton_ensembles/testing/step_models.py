"""The models that a step of a test calls (Business Logic Scripting): functions of the test, and others beside it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from triton_ensembles.runtime.fused.called_models import NOT_READY, ONLY_IN_EXECUTE
from triton_ensembles.runtime.fused.messages import Answer, Failure, Question
from triton_ensembles.runtime.fused.responses import normalized
from triton_ensembles.runtime.fused.step_inputs import RefusedError
from triton_ensembles.testing.errors import TritonError
from triton_ensembles.testing.native import TritonModelException
from triton_ensembles.testing.stub_modules import TestModules
from triton_ensembles.testing.tested_step import TestedStep

Function = Callable[..., Mapping[str, Any] | Iterable[Mapping[str, Any]]]
"""Gets a model's inputs by name, as arrays, and returns its outputs, or yields those of each answer."""
_DECOUPLED = (
    "Model {} is using the decoupled. The current BLS request call doesn't support models using the decoupled "
    "transaction policy. Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled "
    "models.'"
)


class StepModels:
    """The Python models of a repository, and the functions that answer for others. ``load`` returns the model in a
    folder."""

    def __init__(self, repository: Path, functions: Mapping[str, Function], load: Callable[[Path], TestedStep]) -> None:
        self._repository, self._functions, self._load = repository, functions, load
        self._loaded: dict[str, TestedStep] = {}
        self.error: BaseException | None = None  # of the test's own function, or of a model that cannot be loaded

    def is_ready(self, name: str, version: int) -> bool:
        if name in self._functions:
            return True
        is_there = bool(name) and (self._repository / name / "config.pbtxt").is_file()
        return is_there and (version == -1 or (self._repository / name / str(version)).is_dir())

    def refuse_outside(self, *_: Any) -> None:
        raise TritonModelException(ONLY_IN_EXECUTE)

    def answer(self, name: str, version: int, question: Question) -> Answer:
        answers = self._answers(name, version, question, decoupled=False)
        return answers[0] if answers else {}

    def stream(self, name: str, version: int, question: Question) -> Iterator[Answer]:
        return iter(self._answers(name, version, question, decoupled=True))

    def loaded(self, name: str) -> TestedStep:
        """Return the model in the folder ``name``."""
        if name not in self._loaded:
            with TestModules().active():
                self._loaded[name] = self._load(self._repository / name)
        return self._loaded[name]

    def close(self) -> None:
        """Call ``finalize`` of all."""
        for step in self._loaded.values():
            step.close()

    def _answers(self, name: str, version: int, question: Question, *, decoupled: bool) -> list[Answer]:
        try:
            return self._answered(name, version, question, decoupled=decoupled)
        except RefusedError as error:
            return [Failure.of_call(name, error)]
        except (TritonModelException, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.error = error
            raise

    def _answered(self, name: str, version: int, question: Question, *, decoupled: bool) -> list[Answer]:
        if not self.is_ready(name, version):
            raise RefusedError(NOT_READY.format(name))
        if name in self._functions:
            return _called(self._functions[name], question)
        step = self.loaded(name)
        if step.is_decoupled and not decoupled:
            raise RefusedError(_DECOUPLED.format(name))
        (answers,) = step.answers([question])
        if isinstance(answers, RefusedError):
            raise answers
        answers = [Failure(each.message) if isinstance(each, Failure) else each for each in answers]
        return [*answers, {}] if step.is_decoupled else answers  # the final flags come as a response without tensors


def _called(function: Function, question: Question) -> list[Answer]:
    try:
        with TestModules().active():
            result = function(**question.inputs)
            parts = [result] if isinstance(result, Mapping) else [*result, {}]
    except TritonError as error:
        return [Failure(str(error))]
    wanted = {*question.wanted}
    return [
        {name: normalized(np.asarray(value)) for name, value in part.items() if not wanted or name in wanted}
        for part in parts
    ]
