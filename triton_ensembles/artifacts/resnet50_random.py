"""ResNet-50 with seeded random weights as TorchScript, for machines that cannot download the real ones.

Only the numbers differ: its answers mean nothing, its speed is the real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.resnet50_torchscript import READS as SHARED
from triton_ensembles.artifacts.resnet50_torchscript import write_checked

if TYPE_CHECKING:
    import torch

TOOLS = ("torch", "numpy")
READS = (*SHARED, "triton_ensembles/artifacts/resnet50_torchscript.py")

# The weight of a block's branch relative to its shortcut: with 1, the variance would double in each of the 16 blocks.
BRANCH_GAIN = 0.25


def make(job: Job) -> Facts:
    from triton_ensembles.artifacts.resnet50 import ResNet50

    seed = int(job.options["seed"])
    model = ResNet50()
    fill(model, seed)
    return {"seed": seed} | write_checked(model, job)


def fill(model: torch.nn.Module, seed: int) -> None:
    """Set the parameters: He-normal kernels from numpy's PCG64, whose stream is the same in every release, and batch
    normalization without effect, except at the end of a block's branch.
    """
    import numpy as np
    import torch

    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() > 1:
                gain = 2.0 if value.dim() == 4 else 1.0  # a ReLU halves what comes out of a convolution
                numbers = generator.standard_normal(tuple(value.shape), dtype=np.float32)
                value.copy_(torch.from_numpy(numbers * np.float32(np.sqrt(gain / value[0].numel()))))
            else:
                value.fill_(BRANCH_GAIN if name.endswith("bn3.weight") else float(name.endswith("weight")))
