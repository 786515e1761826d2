"""The content of a file beside a request as a tensor. The package's docstring has the table of suffixes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def read_content(path: Path, datatype: str, shape: Sequence[int], mean: Sequence[float], std: Sequence[float]) -> Any:
    """The array, in the file's own shape.

    Raises:
        ValueError: the content cannot become that datatype; the message is half a sentence without a subject.
        OSError: the file cannot be read.
    """
    if path.suffix == ".npy":
        try:
            return np.load(path, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError("is not an array that NumPy has saved") from error
    if datatype == "FP32":
        if len(shape) < 3 or shape[-3] != 3 or min(shape[-2:]) < 1:
            raise ValueError("can only be read as an image into a shape that ends in 3, height, width")
        return pixels(path.read_bytes(), height=shape[-2], width=shape[-1], mean=mean, std=std)
    if datatype == "BYTES" and path.suffix == ".txt":
        lines = path.read_text(encoding="utf-8").splitlines()
        return np.array([line.encode() for line in lines if line and not line.startswith("#")], dtype=np.object_)
    if datatype == "BYTES":
        return np.array([path.read_bytes()], dtype=np.object_)
    if datatype == "UINT8":
        return np.frombuffer(path.read_bytes(), np.uint8)
    raise ValueError(f"cannot be read as {datatype}: save the tensor as .npy")


def pixels(image: bytes, *, height: int, width: int, mean: Sequence[float], std: Sequence[float]) -> Floats:
    """An encoded image as FP32 [3, height, width]: RGB, from 0 to 1, then less ``mean`` and divided by ``std``.

    Networks of torchvision want ImageNet's mean and standard deviation; AWS's example client for ResNet-50 on Triton
    computes the same (amazon-sagemaker-examples, triton_resnet50.ipynb).

    Raises:
        ValueError: this is not an image that Pillow can decode.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(image)) as opened:
            resized = np.asarray(opened.convert("RGB").resize((width, height)), np.float32) / 255
    except (UnidentifiedImageError, OSError) as error:
        raise ValueError("is not an image") from error
    normal = (resized - np.array(mean, np.float32)) / np.array(std, np.float32)
    return np.ascontiguousarray(normal.transpose(2, 0, 1))
