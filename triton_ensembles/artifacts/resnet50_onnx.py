"""ResNet-50 as ONNX, with torchvision's weights or seeded random ones.

input FP32 [batch, 3, 224, 224] -> output FP32 [batch, 1000], logits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.onnx_export import OPSET, TOOLS, compare, export
from triton_ensembles.artifacts.resnet50_torchscript import pretrained, random

if TYPE_CHECKING:
    from triton_ensembles.artifacts.resnet50 import ResNet50

__all__ = ["TOOLS"]
READS = ("artifacts/resnet50.py", "artifacts/resnet50_torchscript.py", "artifacts/onnx_export.py")
BATCHES = (1, 3)


def make(job: Job) -> Facts:
    """With torchvision's weights, which are the source file."""
    return _write(pretrained(job), job)


def make_random(job: Job) -> Facts:
    """With random weights, as resnet50_torchscript makes them."""
    return {"seed": job.options["seed"]} | _write(random(job.options), job)


def _write(model: ResNet50, job: Job) -> Facts:
    import torch

    from triton_ensembles.artifacts.resnet50 import SIDE

    generator = torch.Generator().manual_seed(0)
    feeds = [{"input": torch.randn((batch, 3, SIDE, SIDE), generator=generator)} for batch in BATCHES]
    export(model, job.output, feeds[0], "output", {"input": {0: "batch"}, "output": {0: "batch"}})
    return {"relative_difference_to_torch": float(f"{compare(model, job.output, feeds, 'output'):.1e}"), "opset": OPSET}
