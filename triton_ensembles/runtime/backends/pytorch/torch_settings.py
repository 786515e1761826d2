"""The parameters of parameters.py through torch's Python API, and an instance's device.

In Triton's native backend, process-wide settings are those of the model loaded last; here, each instance is a process.
"""

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Mapping

import torch

from triton_ensembles.runtime.backends.common.model_instance import LoadError, ModelInstance
from triton_ensembles.runtime.backends.pytorch.parameters import GPU, PARAMETERS

THREADS = "INTRA_OP_THREAD_COUNT"
_OTHER_THREADS = "INTER_OP_THREAD_COUNT"
_INFERENCE_MODE = "INFERENCE_MODE"
_NOT_OPTIMIZED = "DISABLE_OPTIMIZED_EXECUTION"
_NO_CUDNN = "DISABLE_CUDNN"
_CLEANING = "ENABLE_CACHE_CLEANING"

# torch's defaults apply unless the config sets them.
_JIT: Mapping[str, Callable[[bool], object]] = {
    "ENABLE_JIT_EXECUTOR": torch._C._jit_set_profiling_executor,
    "ENABLE_JIT_PROFILING": torch._C._jit_set_profiling_mode,
    "ENABLE_TENSOR_FUSER": torch._C._jit_set_texpr_fuser_enabled,
}

# malloc.h
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEPT = 1 << 30  # bytes


class Settings:
    """The settings of one model. The constructor applies those that torch keeps for the whole process. An invalid value
    raises LoadError."""

    def __init__(self, model: ModelInstance) -> None:
        self._inference_mode = model.boolean(_INFERENCE_MODE, True)
        self._optimized = not model.boolean(_NOT_OPTIMIZED, False)
        self._cleaning = model.boolean(_CLEANING, False) and model.gpu is not None
        torch.backends.cudnn.enabled = not model.boolean(_NO_CUDNN, False)
        if model.gpu is None:
            _keep_freed_memory()
        if threads := model.integer(_OTHER_THREADS, 0):
            torch.set_num_interop_threads(threads)
        for key, switch in _JIT.items():
            is_on = model.boolean(key, True)
            if key in model.parameters:
                switch(is_on)
        without = {key: row.without_effect for key, row in PARAMETERS.items() if row.without_effect}
        without = {key: reason for key, reason in without.items() if model.gpu is None or reason != GPU}
        self.without_effect = {key: reason for key, reason in without.items() if key in model.parameters}
        """Parameters of the config that have no effect, and why."""

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """The context for loading and for every run."""
        # Gradients are never needed; inference mode also drops the version counters and views that they need.
        guard = torch.inference_mode() if self._inference_mode else torch.no_grad()
        with guard, torch.jit.optimized_execution(self._optimized):  # type: ignore[attr-defined]
            yield

    def clean(self) -> None:
        """To be called after every run."""
        if self._cleaning:
            torch.cuda.empty_cache()


def device_of(gpu: int | None) -> torch.device:
    """The CPU or, for an instance of KIND_GPU, the device ``gpu``, which becomes this process's default."""
    if gpu is None:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise LoadError(f"the config asks for KIND_GPU, but torch {torch.__version__} finds no CUDA here")
    if gpu >= torch.cuda.device_count():
        raise LoadError(f"the config asks for GPU {gpu}, but torch has {torch.cuda.device_count()}, from 0")
    torch.cuda.set_device(gpu)  # also for a model's own torch.zeros()
    return torch.device("cuda", gpu)


def _keep_freed_memory() -> None:
    """Make glibc keep freed memory of this process, up to 1 GiB, for the next run on the CPU. torch allocates each
    layer's result with malloc and frees it soon, and glibc returns large blocks to the system, which must clear the
    pages for the next run: with ResNet-50 and batches of 32, a third of all processor time. So an instance stays as
    large as its largest batch has made it."""
    with contextlib.suppress(AttributeError):  # a C library other than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _KEPT)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
