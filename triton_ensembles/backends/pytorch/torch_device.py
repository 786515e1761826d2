"""Where a model instance computes."""

from __future__ import annotations

import torch

from triton_ensembles.backends.common.declared import LoadError


def device_of(gpu: int | None) -> torch.device:
    """The device of an instance of KIND_GPU on ``gpu``, which becomes this process's own, or the CPU.

    Raises:
        LoadError: this torch has no CUDA, or no such GPU.
    """
    if gpu is None:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise LoadError(f"the config asks for KIND_GPU, but torch {torch.__version__} finds no CUDA here")
    if gpu >= torch.cuda.device_count():
        raise LoadError(f"the config asks for GPU {gpu}, but torch has {torch.cuda.device_count()}, from 0")
    torch.cuda.set_device(gpu)  # where a model's own torch.zeros() shall be made, too
    return torch.device("cuda", gpu)
