"""Runs a step's own, unchanged model.py, and answers for it as Triton's Python backend does.

Source of the messages: python_backend r24.10, pb_stub.cc (ProcessRequests, ProcessReturnedResponses) and pybind11 2.10
(the text of a Python exception).
"""

import importlib
import inspect
import os
import re
import sys
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.fused.messages import Failure
from triton_ensembles.runtime.fused.responses import answer_of
from triton_ensembles.runtime.fused.step import StepInput, StepOutput, StepPlace, StepRunner
from triton_ensembles.runtime.fused.step_request import InferenceRequest, Models, request_types

_OWN_CODE = re.compile("/triton_ensembles/(runtime/fused|testing)/").search
_LOADING = "the models of a fused ensemble are loaded with it, and only with it"


class WrongReturnError(Exception):
    """``execute`` returned something that Triton cannot send."""


class StepModules:
    """Modules that a step imports from its version folder, in ``sys.modules`` only while the step runs: two steps may
    both have a ``helper.py``. In the drawn form each has a process of its own, whose ``sys.path`` ends with the step's
    version folder and its model folder. It gets ``utils`` when it imports ``triton_python_backend_utils``.
    ``place``: where in ``sys.path`` those folders are."""

    _active: "StepModules | None" = None

    def __init__(self, folder: Path, utils: ModuleType, place: int = sys.maxsize) -> None:
        self._folders, self._place = [str(folder), str(folder.parent)], place
        # The stub imports model.py as "1.model", so that relative imports find its neighbors.
        package = ModuleType(folder.name)
        package.__path__ = [str(folder)]
        self._entry = f"{folder.name}.model"
        self._own: dict[str, ModuleType] = {"triton_python_backend_utils": utils, folder.name: package}

    def load(self) -> type[Any]:
        """The step's ``TritonPythonModel``. Raises what importing its model.py raises."""
        with self.active():
            self.module = importlib.import_module(self._entry)
            model: type[Any] = self.module.TritonPythonModel
            return model

    @contextmanager
    def active(self) -> Iterator[None]:
        """Imports inside the context are those of the step; within that of a step that calls it, only its own."""
        caller, StepModules._active = StepModules._active, self
        if caller:
            caller.leave()
        self.enter()
        try:
            yield
        finally:
            self.leave()
            StepModules._active = caller
            if caller:
                caller.enter()

    def enter(self) -> None:
        """Let imports be those of the step."""
        self._hidden = {name: sys.modules[name] for name in self._own if name in sys.modules}
        sys.modules.update(self._own)
        sys.path[self._place : self._place] = self._folders
        self._latest = next(reversed(sys.modules))

    def leave(self) -> None:
        """Let imports be those of before."""
        for folder in self._folders:
            sys.path.remove(folder)
        # Only the new ones: a look at a module writes to its page, which the worker has in common with others.
        new = list(takewhile(lambda name: name != self._latest, reversed(sys.modules)))
        self._own.update((name, sys.modules[name]) for name in new if self._is_own(name))
        for name in self._own:
            sys.modules.pop(name, None)
        sys.modules.update(self._hidden)

    def _is_own(self, name: str) -> bool:
        facts = getattr(sys.modules[name], "__dict__", {})  # a lazy module imports what is asked of it and not in there
        places = [facts.get("__file__") or "", *map(str, facts.get("__path__", ()))]
        return any(place.startswith(f"{self._folders[1]}/") for place in places)


class PythonStep(StepRunner):
    """A step with a model.py, which may call ``models``. Raises what importing or initializing that raises."""

    def __init__(self, place: StepPlace, models: Models, modules: type[StepModules] = StepModules) -> None:
        self._place = place
        request_type, self._request_type = request_types(models)
        self._modules = modules(place.version_folder, _utils_for(str(place.version_folder), request_type, models))
        model = self._modules.load()
        with self._modules.active():
            self._model = model()
            if hasattr(self._model, "initialize"):
                self._model.initialize(place.arguments())

    @property
    def is_executing(self) -> bool:
        """Return whether a call of the step comes from itself: Triton's one instance would wait for itself for ever."""
        return self._request_type.executing.is_set()

    def run(self, batch: Sequence[StepInput]) -> list[StepOutput]:
        if self.is_executing:
            message = f"the model '{self._place.model}' calls itself, or is called by a model that it calls"
            return [Failure(message)] * len(batch)
        try:
            requests = [self._request(step_input) for step_input in batch]
            self._request_type.executing.set()
            with self._modules.active():
                try:
                    returned = self.execute(requests)
                finally:
                    with self._request_type.calls:  # once that of a thread has ended for which it has not waited
                        self._request_type.executing.clear()
            responses = self.responses(returned, requests)
            return [answer_of(response, request.wanted) for response, request in zip(responses, batch, strict=True)]
        except BaseException as error:  # also SystemExit: the step's error must not end the others
            return [self.failed(error)] * len(batch)

    def failed(self, error: BaseException) -> Failure:
        """Log an error of ``execute``, as the stub does in the drawn form, and return it as that answers."""
        reason = str(error) if isinstance(error, WrongReturnError) else text_of(error)
        message = f"Failed to process the request(s) for model '{self._place.instance}', message: {reason}"
        pb_utils.Logger.log_error(message)
        return Failure(message)

    def close(self) -> None:
        if hasattr(self._model, "finalize"):
            with self._modules.active():
                self._model.finalize()

    def sender(self) -> Any:
        """The response sender of a request; None where there is none."""
        return None

    def _request(self, step_input: StepInput) -> Any:
        question = step_input.question
        return self._request_type(
            question.parameters,
            self.sender(),
            request_id=question.id,
            correlation_id=question.correlation_id,
            requested_output_names=list(step_input.wanted),
            model_name=self._place.model,
            model_version=int(self._place.plan.version),
            inputs=[pb_utils.Tensor(name, array) for name, array in step_input.inputs.items()],
            flags=question.flags,
            timeout=question.timeout,
        )

    def execute(self, requests: Sequence[Any]) -> Any:
        """Call the step's ``execute``, and await what it returns."""
        returned = self._model.execute(requests)
        return _run(returned) if inspect.iscoroutine(returned) else returned

    def responses(self, returned: Any, requests: Sequence[Any]) -> Sequence[Any]:
        """The InferenceResponse for each request. Raises :class:`WrongReturnError`."""
        if not isinstance(returned, list):
            raise WrongReturnError(f"Expected a list in the execute return, found type '{type(returned)}'.")
        if len(returned) != len(requests):
            wrong = "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
            sizes = f"InferenceRequest(s) size is:{len(requests)}, and InferenceResponse(s) size is:{len(returned)}\n"
            raise WrongReturnError(wrong + sizes)
        for response in returned:
            if not isinstance(response, pb_utils.InferenceResponse):
                wrong = "Expected an 'InferenceResponse' object in the execute function return list, found type "
                raise WrongReturnError(f"{wrong}'{type(response)}'.")
        return returned


def text_of(error: BaseException) -> str:
    """Describe an exception as pybind11 does: its text, its deepest frame, and those that called that, up to the
    step's own. Never raises, whatever the exception's ``__str__`` does; what UTF-8 lacks is escaped."""
    message, second = "<MESSAGE UNAVAILABLE DUE TO ANOTHER EXCEPTION>", ""
    try:
        message = str(error) or "<EMPTY MESSAGE>"
    except BaseException as another:
        with suppress(BaseException):
            second = f"\nMESSAGE UNAVAILABLE DUE TO EXCEPTION: {type(another).__name__}: {another}{_frames(another)}"
    text = f"{type(error).__name__}: {message}{_frames(error)}{second}"
    return text.encode(errors="backslashreplace").decode()


def _frames(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    frame, frames = trace.tb_frame if trace else None, ""
    while frame is not None and _OWN_CODE(frame.f_code.co_filename):  # of a call to another model
        frame = frame.f_back
    while frame is not None and not _OWN_CODE(frame.f_code.co_filename):
        file = frame.f_code.co_filename
        file = os.path.realpath(file) if file.startswith("/proc/self/") else file  # see fork_server.py
        frames += f"  {file}({frame.f_lineno}): {frame.f_code.co_name}\n"
        frame = frame.f_back
    return f"\n\nAt:\n{frames}" if frames else ""


def _utils_for(folder: str, request_type: type[InferenceRequest], models: Models) -> ModuleType:
    """``triton_python_backend_utils`` as a step in its version folder ``folder`` has it in the drawn form."""

    def is_model_ready(model_name: str, model_version: str = "") -> bool:
        return models.is_ready(model_name, int(model_version or -1))

    own = ModuleType(pb_utils.__name__, pb_utils.__doc__)
    own.__dict__.update(vars(pb_utils))
    own.__dict__.update(
        InferenceRequest=request_type,
        get_model_dir=lambda: folder,
        load_model=_refuse_loading,
        unload_model=_refuse_loading,
        is_model_ready=is_model_ready,
    )
    return own


def _refuse_loading(*_: Any, **__: Any) -> NoReturn:
    raise pb_utils.TritonModelException(_LOADING)


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of an ``async def execute``, also of a model that another one's called."""
    import asyncio  # 3 MiB, for the steps that need it
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:  # one thread cannot run a loop within a loop
        return pool.submit(asyncio.run, coroutine).result()
