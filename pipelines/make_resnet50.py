"""ResNet-50 v1.5: [batch, 3, 224, 224] -> logits [batch, 1000], with torchvision's weights or seeded random ones.

Architecture: He et al., "Deep Residual Learning for Image Recognition", arXiv 1512.03385, table 1. The stride of a
stage's first block is in its 3x3 convolution: that is "v1.5", with which torchvision's weights were trained.

The build runs it as a maker's script: ``python pipelines/make_resnet50.py OUTPUT JOB``. OUTPUT is ONNX (tensors
``input`` and ``output``) or, with the suffix .pt, TorchScript (Triton numbers its tensors: INPUT__0 and OUTPUT__0). The
weights are the source file, or random ones of the option ``seed``, with fewer ``blocks`` in the four stages if that is
given.
"""

import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.onnx_export import OPSET, compare, export
from triton_ensembles.artifacts.script import main
from triton_ensembles.artifacts.torchscript import write
from triton_ensembles.ground.errors import EnsembleError

CLASSES = 1000
SIDE = 224
CHANNELS = (64, 128, 256, 512)  # within a block, by stage
BLOCKS = (3, 4, 6, 3)
EXPANSION = 4  # channels of a block's output, divided by the channels within it
BATCHES = (1, 3)  # on which the file is compared with torch
# The weight of a block's branch relative to its shortcut: with 1, the variance would double in each of the 16 blocks.
BRANCH_GAIN = 0.25


def make(job: Job) -> Facts:
    """The file, in the form that the suffix of its name says."""
    weights = {"seed": job.options["seed"]} if "seed" in job.options else {}
    network = random(job.options) if weights else pretrained(job)
    generator = torch.Generator().manual_seed(0)
    examples = [torch.randn((batch, 3, SIDE, SIDE), generator=generator) for batch in BATCHES]
    if job.output.suffix == ".pt":
        return weights | {"relative_difference_to_torch": float(f"{write(network, job.output, examples):.1e}")}
    feeds = [{"input": example} for example in examples]
    export(network, job.output, feeds[0], "output", {"input": {0: "batch"}, "output": {0: "batch"}})
    difference = compare(network, job.output, feeds, "output")
    return weights | {"relative_difference_to_torch": float(f"{difference:.1e}"), "opset": OPSET}


class Block(nn.Module):
    """1x1, 3x3 and 1x1 convolutions and a shortcut, which is a 1x1 convolution where the shape changes."""

    def __init__(self, before: int, within: int, stride: int) -> None:
        super().__init__()
        after = within * EXPANSION
        self.conv1 = nn.Conv2d(before, within, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(within)
        self.conv2 = nn.Conv2d(within, within, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(within)
        self.conv3 = nn.Conv2d(within, after, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(after)
        changes = stride != 1 or before != after
        self.downsample: nn.Module = (
            nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            if changes
            else nn.Identity()
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        return torch.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet50(nn.Module):
    """Returns logits, not probabilities, as torchvision's model does."""

    def __init__(self, blocks: tuple[int, ...] = BLOCKS) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1, self.layer2, self.layer3, self.layer4 = _stages(blocks)
        self.fc = nn.Linear(CHANNELS[-1] * EXPANSION, CLASSES)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        # Convolutions are a quarter faster on a CPU with channels last. The input is still NCHW.
        x = image.contiguous(memory_format=torch.channels_last)
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), kernel_size=3, stride=2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        logits: torch.Tensor = self.fc(x.mean((2, 3)))
        return logits


def _stages(counts: tuple[int, ...]) -> list[nn.Sequential]:
    stages, before = [], 64
    for number, (within, count) in enumerate(zip(CHANNELS, counts, strict=True)):
        blocks = []
        for index in range(count):
            blocks.append(Block(before, within, stride=2 if number and not index else 1))
            before = within * EXPANSION
        stages.append(nn.Sequential(*blocks))
    return stages


def pretrained(job: Job) -> ResNet50:
    """The network with the weights of the source file. Raises :class:`EnsembleError` for those of another."""
    network = ResNet50()
    try:
        network.load_state_dict(torch.load(job.source_file(), map_location="cpu", weights_only=True))
    except (RuntimeError, TypeError, AttributeError, pickle.UnpicklingError) as error:
        reason = " ".join(str(error).split())[:300]
        raise EnsembleError(f"{job.file} does not contain the weights of a ResNet-50: {reason}") from error
    return network


def random(options: Mapping[str, Any]) -> ResNet50:
    """The network with random weights of ``seed``: the answers mean nothing, the speed is the real one."""
    network = ResNet50(tuple(map(int, options.get("blocks", BLOCKS))))
    fill(network, int(options["seed"]))
    return network


def fill(model: nn.Module, seed: int) -> None:
    """Set the parameters: He-normal kernels from numpy's PCG64, whose stream is the same in every release, and batch
    normalization without effect, except at the end of a block's branch.
    """
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() > 1:
                gain = 2.0 if value.dim() == 4 else 1.0  # a ReLU halves what comes out of a convolution
                numbers = generator.standard_normal(tuple(value.shape), dtype=np.float32)
                value.copy_(torch.from_numpy(numbers * np.float32(np.sqrt(gain / value[0].numel()))))
            else:
                value.fill_(BRANCH_GAIN if name.endswith("bn3.weight") else float(name.endswith("weight")))


if __name__ == "__main__":
    main(make)
