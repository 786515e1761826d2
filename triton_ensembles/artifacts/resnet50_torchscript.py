"""ResNet-50 with torchvision's weights as TorchScript, for Triton's platform pytorch_libtorch.

INPUT__0 FP32 [batch, 3, 224, 224] -> OUTPUT__0 FP32 [batch, 1000], logits. Triton numbers the tensors; TorchScript has
no names for them.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.errors import EnsembleError

if TYPE_CHECKING:
    import torch

TOOLS = ("torch",)
READS = ("triton_ensembles/artifacts/resnet50.py", "triton_ensembles/artifacts/torchscript.py")

BATCHES = (1, 5)


def make(job: Job) -> Facts:
    import torch

    from triton_ensembles.artifacts.resnet50 import ResNet50

    source = job.source_file()
    try:
        weights = torch.load(source, map_location="cpu", weights_only=True)
        model = ResNet50()
        model.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError, pickle.UnpicklingError) as error:
        reason = " ".join(str(error).split())[:300]
        raise EnsembleError(f"{job.file} does not contain the weights of a ResNet-50: {reason}") from error
    return write_checked(model, job)


def write_checked(model: torch.nn.Module, job: Job) -> Facts:
    """Write the model to the job's output; the facts say how much the file's outputs differ from the model's."""
    import torch

    from triton_ensembles.artifacts.resnet50 import SIDE
    from triton_ensembles.artifacts.torchscript import write

    generator = torch.Generator().manual_seed(0)
    examples = [torch.randn((batch, 3, SIDE, SIDE), generator=generator) for batch in BATCHES]
    return {"relative_difference_to_torch": float(f"{write(model, job.output, examples):.1e}")}
