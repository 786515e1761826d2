"""The torch device of a model instance, and its memory on the CPU."""

import contextlib
import ctypes

import torch

from triton_ensembles.runtime.backends.common.model_instance import LoadError

# malloc.h
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEPT = 1 << 30  # bytes


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


def keep_freed_memory() -> None:
    """Make glibc keep freed memory of this process, up to 1 GiB, for the next run on the CPU.

    torch allocates each layer's result with malloc and frees it soon. glibc returns large blocks to the system every
    time, which must then clear the pages for the next run: with ResNet-50 and batches of 32 that took a third of all
    processor time (610000 page faults a run). Now an instance stays as large as its largest batch has made it.
    """
    with contextlib.suppress(AttributeError):  # a C library other than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _KEPT)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
