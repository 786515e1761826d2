"""The torch device of a model instance."""

from __future__ import annotations

import torch

from triton_ensembles.backends.common.model_instance import LoadError


def device_of(gpu: int | None) -> torch.device:
    """The CPU or, for an instance of KIND_GPU, the device ``gpu``, which becomes this process's default.

    Raises:
        LoadError: this torch has no CUDA, or no such GPU.
    """
    if gpu is None:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise LoadError(f"the config asks for KIND_GPU, but torch {torch.__version__} finds no CUDA here")
    if gpu >= torch.cuda.device_count():
        raise LoadError(f"the config asks for GPU {gpu}, but torch has {torch.cuda.device_count()}, from 0")
    torch.cuda.set_device(gpu)  # also for a model's own torch.zeros()
    return torch.device("cuda", gpu)
