"""What clients of resnet_pytorch send: pixels, since that ensemble decodes nothing itself.

The same as in AWS's example client for ResNet-50 on Triton (amazon-sagemaker-examples, triton_resnet50.ipynb).
"""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt

SIDE = 224
# Of the channels red, green and blue, from 0 to 1, over ImageNet: what torchvision's networks were trained with.
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def pixels(image: bytes) -> npt.NDArray[np.float32]:
    """An encoded image as FP32 [3, 224, 224]: RGB, channels first, normalised with ImageNet's mean and deviation."""
    from PIL import Image

    with Image.open(io.BytesIO(image)) as opened:
        resized = np.asarray(opened.convert("RGB").resize((SIDE, SIDE)), np.float32) / 255
    normal = (resized - np.array(MEAN, np.float32)) / np.array(DEVIATION, np.float32)
    return np.ascontiguousarray(normal.transpose(2, 0, 1))
