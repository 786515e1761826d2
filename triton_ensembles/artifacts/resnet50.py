"""ResNet-50 v1.5: [batch, 3, 224, 224] -> logits [batch, 1000], with the parameter names of torchvision's weights.

Architecture: He et al., "Deep Residual Learning for Image Recognition", arXiv 1512.03385, table 1. The stride of a
stage's first block is in its 3x3 convolution: that is "v1.5", with which torchvision's weights were trained.
"""

import torch
from torch import nn

CLASSES = 1000
SIDE = 224
CHANNELS = (64, 128, 256, 512)  # within a block, by stage
BLOCKS = (3, 4, 6, 3)
EXPANSION = 4  # channels of a block's output, divided by the channels within it


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
    for number, (within, blocks) in enumerate(zip(CHANNELS, counts, strict=True)):
        made = []
        for index in range(blocks):
            made.append(Block(before, within, stride=2 if number and not index else 1))
            before = within * EXPANSION
        stages.append(nn.Sequential(*made))
    return stages
