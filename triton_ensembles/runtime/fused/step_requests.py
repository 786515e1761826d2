"""Triton as a Python step sees it: its requests, and ``triton_python_backend_utils``."""

import sys
from types import ModuleType
from typing import Any

import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.fused import calls

_CALLS = "a step of a fused ensemble cannot call other models"


class StepRequest:
    """A request that did not come from the server, so that nothing can be asked of the server about it.

    What steps seldom ask for is answered by a real ``pb_utils.InferenceRequest``, made from the ``arguments``, which
    takes longer than some steps run. ``parameters`` are JSON, in the server's own spelling.
    """

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

    def get_response_sender(self) -> Any:
        raise pb_utils.TritonModelException("a step of a fused ensemble returns its responses from execute")

    def exec(self, *_: Any, **__: Any) -> Any:
        raise pb_utils.TritonModelException(_CALLS)

    def async_exec(self, *_: Any, **__: Any) -> Any:
        raise pb_utils.TritonModelException(_CALLS)

    def __getattr__(self, name: str) -> Any:
        if self._real is None:
            self._real = pb_utils.InferenceRequest(**self._arguments)
        return getattr(self._real, name)


def utils_for(folder: str) -> ModuleType:
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
