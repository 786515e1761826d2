"""The parameters of config.pbtxt that Triton's own PyTorch backend reads, and what they are in torch's Python API.

Source of the keys, their meaning and defaults: README of triton-inference-server/pytorch_backend, "Parameters", and
ParseParameters in its src/libtorch.cc (r24.10). An instance here is a process of its own, so what torch keeps for a
whole process is the instance's own setting, and not, as there, the last loaded model's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

import torch

from triton_ensembles.backends.common.declared import LoadError, Model

THREADS = "INTRA_OP_THREAD_COUNT"
_OTHER_THREADS = "INTER_OP_THREAD_COUNT"
_INFERENCE_MODE = "INFERENCE_MODE"
_NOT_OPTIMIZED = "DISABLE_OPTIMIZED_EXECUTION"
_NO_CUDNN = "DISABLE_CUDNN"
_CLEANING = "ENABLE_CACHE_CLEANING"

# Left as torch has them unless the config says something.
_JIT: Mapping[str, Callable[[bool], object]] = {
    "ENABLE_JIT_EXECUTOR": torch._C._jit_set_profiling_executor,
    "ENABLE_JIT_PROFILING": torch._C._jit_set_profiling_mode,
    "ENABLE_TENSOR_FUSER": torch._C._jit_set_texpr_fuser_enabled,
}
_WITHOUT_EFFECT = {
    "ENABLE_NVFUSER": "torch has no nvFuser for TorchScript any more",
    "ENABLE_WEIGHT_SHARING": "every instance here is a process with weights of its own",
}
_ONLY_TORCHSCRIPT = "only TorchScript has such a switch, and a compiled package has not"

PARAMETERS = frozenset(
    {THREADS, _OTHER_THREADS, _INFERENCE_MODE, _NOT_OPTIMIZED, _NO_CUDNN, _CLEANING, *_JIT, *_WITHOUT_EFFECT}
)


class Settings:
    """Those of one model. Making it sets what torch keeps for the whole process.

    Args:
        script: whether the model is TorchScript, whose interpreter some parameters are about.

    Raises:
        LoadError: a value that is neither true nor false, or no number of threads.
    """

    def __init__(self, model: Model, *, script: bool) -> None:
        self._inference_mode = _flag(model, _INFERENCE_MODE, True)
        self._optimized = not _flag(model, _NOT_OPTIMIZED, False)
        self._cleaning = _flag(model, _CLEANING, False) and model.gpu is not None
        torch.backends.cudnn.enabled = not _flag(model, _NO_CUDNN, False)
        if threads := model.integer(_OTHER_THREADS, 0):
            torch.set_num_interop_threads(threads)
        for key, switch in _JIT.items():
            if key in model.parameters:
                on = _flag(model, key, True)
                if script:
                    switch(on)
        without = dict(_WITHOUT_EFFECT)
        if not script:
            without |= dict.fromkeys((*_JIT, _NOT_OPTIMIZED), _ONLY_TORCHSCRIPT)
        self.without_effect = {key: reason for key, reason in without.items() if key in model.parameters}
        """Parameters of the config that do nothing here, and why."""

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Around loading and around every run."""
        # Never gradients; inference mode also leaves out the versions and views that they need.
        guard = torch.inference_mode() if self._inference_mode else torch.no_grad()
        with guard, torch.jit.optimized_execution(self._optimized):  # type: ignore[attr-defined]
            yield

    def clean(self) -> None:
        """After every run."""
        if self._cleaning:
            torch.cuda.empty_cache()


def _flag(model: Model, parameter: str, default: bool) -> bool:
    text = model.parameters.get(parameter)
    if text is None:
        return default
    if text.lower() not in ("true", "false", "1", "0"):
        raise LoadError(f'parameter {parameter} is "{text}", but must be true or false')
    return text.lower() in ("true", "1")
