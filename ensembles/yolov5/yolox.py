"""YOLOX: [batch, 3, 640, 640] -> [batch, 8400, 85], undecoded, in the sizes of its family.

Architecture: Ge et al., "YOLOX: Exceeding YOLO Series in 2021", arXiv 2107.08430: CSPDarknet with a Focus stem, a path
aggregation network, and decoupled heads at strides 8, 16 and 32. A row of the output is x, y, width and height as the
head has them, then the object's and each class's probability.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

CLASSES = 80
SIDE = 640
STRIDES = (8, 16, 32)
SILU = 3.1  # SiLU divides the second moment of small normal numbers by 4, of large ones by 2
GAINS = {"image.stem": 1e-4, "object": 4.0, "classes": 4.0, ".box": 0.3}  # the first kernel reads values up to 255
BRANCH, BRANCH_GAIN, PRIOR = "inner.1.1.weight", 0.5, -3.0


class Convolution(nn.Sequential):
    def __init__(self, before: int, after: int, kernel: int, stride: int = 1) -> None:
        convolution = nn.Conv2d(before, after, kernel, stride, padding=kernel // 2, bias=False)
        super().__init__(convolution, nn.BatchNorm2d(after, eps=1e-3), nn.SiLU())


class Bottleneck(nn.Module):
    def __init__(self, channels: int, *, shortcut: bool) -> None:
        super().__init__()
        self.inner = nn.Sequential(Convolution(channels, channels, 1), Convolution(channels, channels, 3))
        self.shortcut = shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.inner(x)
        return y + x if self.shortcut else y


class CrossStage(nn.Module):
    """Half of the channels pass through bottlenecks, the other half beside them."""

    def __init__(self, before: int, after: int, count: int, *, shortcut: bool = True) -> None:
        super().__init__()
        half = after // 2
        self.through, self.beside = Convolution(before, half, 1), Convolution(before, half, 1)
        self.inner = nn.Sequential(*(Bottleneck(half, shortcut=shortcut) for _ in range(count)))
        self.last = Convolution(2 * half, after, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        joined: torch.Tensor = self.last(torch.cat((self.inner(self.through(x)), self.beside(x)), 1))
        return joined


class PyramidPooling(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = Convolution(channels, channels // 2, 1)
        self.pools = nn.ModuleList(nn.MaxPool2d(size, 1, size // 2) for size in (5, 9, 13))
        self.last = Convolution(channels * 2, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        pooled: torch.Tensor = self.last(torch.cat((x, *(pool(x) for pool in self.pools)), 1))
        return pooled


class Head(nn.Module):
    """The head of a stride: [batch, channels, rows, columns] -> [batch, 85, rows, columns]."""

    def __init__(self, before: int, channels: int) -> None:
        super().__init__()
        self.stem = Convolution(before, channels, 1)
        self.of_class, self.of_box = (
            nn.Sequential(*(Convolution(channels, channels, 3) for _ in range(2))) for _ in range(2)
        )
        self.classes = nn.Conv2d(channels, CLASSES, 1)
        self.box, self.object = nn.Conv2d(channels, 4, 1), nn.Conv2d(channels, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        box = self.of_box(x)
        parts = (self.box(box), self.object(box).sigmoid(), self.classes(self.of_class(x)).sigmoid())
        return torch.cat(parts, 1)


class Yolox(nn.Module):
    """``depth`` and ``width`` are percentages of the largest-but-one network: YOLOX-s has 33 and 50."""

    def __init__(self, depth: int = 33, width: int = 50) -> None:
        super().__init__()
        few, many = max(round(depth * 3 / 100), 1), max(round(depth * 9 / 100), 1)
        c = [width * size // 100 for size in (64, 128, 256, 512, 1024)]
        self.stem = Convolution(12, c[0], 3)
        self.dark2 = nn.Sequential(Convolution(c[0], c[1], 3, 2), CrossStage(c[1], c[1], few))
        self.dark3 = nn.Sequential(Convolution(c[1], c[2], 3, 2), CrossStage(c[2], c[2], many))
        self.dark4 = nn.Sequential(Convolution(c[2], c[3], 3, 2), CrossStage(c[3], c[3], many))
        last = CrossStage(c[4], c[4], few, shortcut=False)
        self.dark5 = nn.Sequential(Convolution(c[3], c[4], 3, 2), PyramidPooling(c[4]), last)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.lateral5, self.lateral4 = Convolution(c[4], c[3], 1), Convolution(c[3], c[2], 1)
        self.up4 = CrossStage(2 * c[3], c[3], few, shortcut=False)
        self.up3 = CrossStage(2 * c[2], c[2], few, shortcut=False)
        self.down3, self.down4 = Convolution(c[2], c[2], 3, 2), Convolution(c[3], c[3], 3, 2)
        self.out4 = CrossStage(2 * c[2], c[3], few, shortcut=False)
        self.out5 = CrossStage(2 * c[3], c[4], few, shortcut=False)
        self.heads = nn.ModuleList(Head(channels, c[2]) for channels in (c[2], c[3], c[4]))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        levels = [head(x).flatten(2) for head, x in zip(self.heads, self._pyramid(images), strict=True)]
        return torch.cat(levels, 2).permute(0, 2, 1)

    def _pyramid(self, images: torch.Tensor) -> Iterator[torch.Tensor]:
        corners = [images[..., top::2, left::2] for left in (0, 1) for top in (0, 1)]
        dark3 = self.dark3(self.dark2(self.stem(torch.cat(corners, 1))))
        dark4 = self.dark4(dark3)
        lateral5 = self.lateral5(self.dark5(dark4))
        lateral4 = self.lateral4(self.up4(torch.cat((self.up(lateral5), dark4), 1)))
        out3 = self.up3(torch.cat((self.up(lateral4), dark3), 1))
        out4 = self.out4(torch.cat((self.down3(out3), lateral4), 1))
        yield from (out3, out4, self.out5(torch.cat((self.down4(out4), lateral5), 1)))


def fill(network: Yolox, seed: int) -> None:
    """Kernels from numpy's PCG64 that keep the size of what they read, and last layers that find an object here and
    there. Kernels have no mean: otherwise all places of a picture would look alike.
    """
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for name, value in network.named_parameters():
            if value.dim() > 1:
                numbers = generator.standard_normal(tuple(value.shape), dtype=np.float32)
                numbers -= numbers.mean(axis=(1, 2, 3), keepdims=True)
                gain = next((gain for part, gain in GAINS.items() if part in f"image.{name}"), 1.0) / value[0].numel()
                value.copy_(torch.from_numpy(numbers * np.float32(math.sqrt(SILU * gain))))
            elif name.endswith(BRANCH):
                value.fill_(BRANCH_GAIN)
            elif name.endswith("bias"):
                value.fill_(PRIOR if name.endswith(("object.bias", "classes.bias")) else 0.0)
