"""Runs a step's own, unchanged model.py, and answers for it as Triton's Python backend does.

Source of the messages: python_backend r24.10, pb_stub.cc (ProcessRequests, ProcessReturnedResponses) and pybind11 2.10
(the text of a Python exception).
"""

import asyncio
import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.fused import calls
from triton_ensembles.runtime.fused.messages import Failure
from triton_ensembles.runtime.fused.step import StepInput, StepOutput, StepPlace

_OWN_CODE = "/triton_ensembles/runtime/fused/"
_CALLS = "a step of a fused ensemble cannot call other models"


class WrongReturnError(Exception):
    """``execute`` returned something that Triton cannot send."""


class StepRequest:
    """A request that did not come from the server. What steps seldom read is answered by a real InferenceRequest, made
    from the ``arguments``, which takes longer than some steps run. ``parameters`` are JSON as the server spells it."""

    __slots__ = ("_arguments", "_inputs", "_parameters", "_real")

    def __init__(self, parameters: str = "{}", **arguments: Any) -> None:
        self._parameters, self._arguments = parameters, arguments
        self._inputs: list[Any] = arguments["inputs"]
        self._real: Any = None

    def inputs(self) -> list[Any]:
        return self._inputs[:]

    def parameters(self) -> str:
        return self._parameters

    def is_cancelled(self) -> bool:
        return False

    get_response_sender = calls.refuse("a step of a fused ensemble returns its responses from execute")
    exec = async_exec = calls.refuse(_CALLS)

    def __getattr__(self, name: str) -> Any:
        if self._real is None:
            self._real = pb_utils.InferenceRequest(**self._arguments)
        return getattr(self._real, name)


class StepModules:
    """Modules that a step imports from its version folder, in ``sys.modules`` only while the step runs: two steps may
    both have a ``helper.py``. In the drawn form each has a process of its own, whose ``sys.path`` ends with the step's
    version folder and its model folder. It gets ``utils`` when it imports ``triton_python_backend_utils``."""

    def __init__(self, folder: Path, utils: ModuleType) -> None:
        self._folders = [str(folder), str(folder.parent)]
        # The stub imports model.py as "1.model", so that relative imports find its neighbors.
        package = ModuleType(folder.name)
        package.__path__ = [str(folder)]
        self._entry = f"{folder.name}.model"
        self._own: dict[str, ModuleType] = {"triton_python_backend_utils": utils, folder.name: package}

    def load(self) -> type[Any]:
        """The step's ``TritonPythonModel``. Raises what importing its model.py raises."""
        with self.active():
            model: type[Any] = importlib.import_module(self._entry).TritonPythonModel
            return model

    @contextmanager
    def active(self) -> Iterator[None]:
        """Imports inside the context are those of the step."""
        hidden = {name: sys.modules[name] for name in self._own if name in sys.modules}
        sys.modules.update(self._own)
        sys.path += self._folders
        before = len(sys.modules)
        try:
            yield
        finally:
            for folder in self._folders:
                sys.path.remove(folder)
            if len(sys.modules) != before:
                self._own.update((name, module) for name, module in list(sys.modules.items()) if self._is_own(name))
            for name in self._own:
                sys.modules.pop(name, None)
            sys.modules.update(hidden)

    def _is_own(self, name: str) -> bool:
        module = sys.modules[name]
        places = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
        return any(place.startswith(f"{self._folders[1]}/") for place in places)


class PythonStep:
    """A step with a model.py. Raises what importing or initializing that raises."""

    def __init__(self, place: StepPlace) -> None:
        self._place = place
        folder = str(place.version_folder)
        self._modules = StepModules(place.version_folder, _utils_for(folder))
        model = self._modules.load()
        with self._modules.active():
            self._model = model()
            if hasattr(self._model, "initialize"):
                self._model.initialize(place.arguments())
        self._wanted = sorted(place.plan.outputs)

    def run(self, batch: Sequence[StepInput]) -> list[StepOutput]:
        try:
            requests = [self._request(step_input) for step_input in batch]
            with self._modules.active():
                responses = self._execute(requests)
            return [self._output(response) for response in responses]
        except WrongReturnError as error:
            reason = str(error)
        except BaseException as error:  # also SystemExit: the step's error must not end the others
            reason = text_of(error)
        message = f"Failed to process the request(s) for model '{self._place.instance}', message: {reason}"
        pb_utils.Logger.log_error(message)  # as the stub does in the drawn form
        return [Failure(message)] * len(batch)

    def close(self) -> None:
        if hasattr(self._model, "finalize"):
            with self._modules.active():
                self._model.finalize()

    def _request(self, step_input: StepInput) -> Any:
        question = step_input.question
        return StepRequest(
            question.parameters,
            request_id=question.id,
            correlation_id=question.correlation_id,
            requested_output_names=self._wanted,
            model_name=self._place.model,
            model_version=int(self._place.plan.version),
            inputs=[pb_utils.Tensor(name, array) for name, array in step_input.inputs.items()],
            flags=question.flags,
            timeout=question.timeout,
        )

    def _execute(self, requests: Sequence[Any]) -> Sequence[Any]:
        returned = self._model.execute(requests)
        if not isinstance(returned, list) and asyncio.iscoroutine(returned):
            returned = asyncio.run(returned)
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

    def _output(self, response: Any) -> StepOutput:
        if response.has_error():
            error = response.error()
            return Failure(error.message(), _code_of(error))
        tensors = {tensor.name(): tensor for tensor in response.output_tensors()}
        return {name: _normalized(tensors[name].as_numpy()) for name in self._wanted if name in tensors}


def text_of(error: BaseException) -> str:
    """An exception as pybind11 describes it: its deepest frame, and those that called that, up to the step's own."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    frame, frames = trace.tb_frame if trace else None, ""
    while frame is not None and _OWN_CODE not in frame.f_code.co_filename:
        frames += f"  {frame.f_code.co_filename}({frame.f_lineno}): {frame.f_code.co_name}\n"
        frame = frame.f_back
    return f"{type(error).__name__}: {error}" + (f"\n\nAt:\n{frames}" if frames else "")


def _utils_for(folder: str) -> ModuleType:
    """``triton_python_backend_utils`` as a step in its version folder ``folder`` has it in the drawn form."""
    real = sys.modules["triton_python_backend_utils"]
    own = ModuleType(real.__name__, real.__doc__)
    own.__dict__.update(vars(real))
    own.__dict__.update(
        InferenceRequest=StepRequest,
        get_model_dir=lambda: folder,
        Logger=calls.Logger,
        MetricFamily=calls.MetricFamily,
        load_model=calls.refuse(_CALLS),
        unload_model=calls.refuse(_CALLS),
        is_model_ready=calls.refuse(_CALLS),
    )
    return own


def _code_of(error: Any) -> str:
    codes = ("UNKNOWN", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED")
    code = error.code()
    return next((name for name in codes if getattr(pb_utils.TritonError, name, None) == code), "INTERNAL")


def _normalized(array: Array) -> Array:
    """A copy, which the step cannot change any more, as the next model gets it: strings as bytes, in C order."""
    if array.dtype.kind in "OSU":
        flat = [item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1).tolist()]
        strings = np.empty(len(flat), np.object_)
        strings[:] = flat
        return strings.reshape(array.shape)
    return np.array(array, order="C")
