"""An input of a request: its JSON, and its values, out of the JSON itself or out of the file that it names.

The package's docstring has the table of what becomes of a file.
"""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field
from tritonclient.utils import triton_to_np_dtype

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.request import Array


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InputParameters(Strict):
    file: str = ""
    mean: str = "0 0 0"
    std: str = "1 1 1"


class InputTensor(Strict):
    name: str
    datatype: str
    shape: Annotated[tuple[Annotated[int, Field(ge=-1, lt=1 << 63)], ...], Field(min_length=1)]
    data: list[Any] | None = None
    parameters: InputParameters = InputParameters()


def tensor_values(tensor: InputTensor, folder: Path) -> Array:
    """The values of an input in its shape: its data, or those of the file in ``folder`` that it names. Raises
    :class:`EnsembleError`: they are missing, cannot be read, or are not of this datatype and shape."""
    named = tensor.parameters.file
    if bool(named) == (tensor.data is not None):
        problem = "both data and a file" if named else "neither data nor a file"
        raise EnsembleError(f"{tensor.name} has {problem}", cure='give "data", or "parameters": {"file": …}')
    source = folder / named if named else None
    values = _from_file(tensor, source) if source else _from_json(tensor)
    try:
        return values.reshape(tensor.shape)
    except ValueError as error:
        where = source.name if source else "its data"
        message = f"{tensor.name} has the shape {list(tensor.shape)}, and {where} has {values.size} values"
        raise EnsembleError(message, cure="correct the shape; one size may be -1, which is then computed") from error


def _from_json(tensor: InputTensor) -> Array:
    elements = list(_flat(tensor.data))
    if tensor.datatype == "BYTES":
        if not all(isinstance(text, str) for text in elements):
            raise EnsembleError(f"data of {tensor.name} holds more than strings", cure="quote each element")
        return np.array([text.encode() for text in elements], dtype=np.object_)
    dtype = np.dtype(triton_to_np_dtype(tensor.datatype))
    try:
        numbers = np.array(elements)
        values = numbers.astype(dtype)
        numeric = "b" if dtype.kind == "b" else "iuf"
        exact = dtype.kind == "f" or bool((values == numbers).all())
        fits = numbers.size == 0 or (numbers.dtype.kind in numeric and exact)
    except (ValueError, TypeError, OverflowError):
        fits = False
    if not fits:
        message = f"data of {tensor.name} is not all {tensor.datatype}"
        raise EnsembleError(message, cure=f"write {tensor.datatype} values")
    return values


def _flat(data: Any) -> Iterator[Any]:
    """The elements of nested or flat data, as KServe v2 allows both."""
    for element in data:
        if isinstance(element, list):
            yield from _flat(element)
        else:
            yield element


def _from_file(tensor: InputTensor, source: Path) -> Array:
    mean = _three_numbers(f"mean of {tensor.name}", tensor.parameters.mean)
    std = _three_numbers(f"std of {tensor.name}", tensor.parameters.std)
    try:
        values: Array = _content(source, tensor, mean, std)
    except FileNotFoundError as error:
        missing = f"{tensor.name} names the file {source.name}, which does not exist"
        raise EnsembleError(missing, cure="put it beside this") from error
    except ValueError as error:
        cure = f"name a file that holds the {tensor.datatype} of {tensor.name}"
        raise EnsembleError(f"{source.name} {error}", cure=cure) from error
    dtype = np.dtype(triton_to_np_dtype(tensor.datatype))
    if values.dtype != dtype:
        raise EnsembleError(f"{source.name} holds {values.dtype}, not {tensor.datatype}", cure=f"save it as {dtype}")
    return values


def _three_numbers(key: str, text: str) -> list[float]:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    if len(numbers) != 3:
        cure = 'write one for red, green and blue, such as "0.485 0.456 0.406"'
        raise EnsembleError(f"{key} is not three numbers: {text!r}", cure=cure)
    return numbers


def _content(source: Path, tensor: InputTensor, mean: Sequence[float], std: Sequence[float]) -> Any:
    """The array in the file's own shape. A ValueError has half a sentence without a subject."""
    if source.suffix == ".npy":
        try:
            return np.load(source, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError("is not an array that NumPy has saved") from error
    content = source.read_bytes()
    if tensor.datatype == "FP32":
        shape = tensor.shape
        if len(shape) < 3 or shape[-3] != 3 or min(shape[-2:]) < 1:
            raise ValueError("can only be read as an image into a shape that ends in 3, height, width")
        return pixels(content, height=shape[-2], width=shape[-1], mean=mean, std=std)
    if tensor.datatype == "BYTES" and source.suffix == ".txt":
        lines = content.decode("utf-8").splitlines()
        return np.array([line.encode() for line in lines if line and not line.startswith("#")], dtype=np.object_)
    if tensor.datatype == "BYTES":
        return np.array([content], dtype=np.object_)
    if tensor.datatype == "UINT8":
        return np.frombuffer(content, np.uint8)
    raise ValueError(f"cannot be read as {tensor.datatype}: save the tensor as .npy")


def pixels(
    image: bytes, *, height: int, width: int, mean: Sequence[float], std: Sequence[float]
) -> npt.NDArray[np.float32]:
    """An encoded image as FP32 [3, height, width]: RGB, from 0 to 1, then less ``mean`` and divided by ``std``.

    Networks of torchvision want ImageNet's mean and standard deviation; AWS's example client for ResNet-50 on Triton
    computes the same (amazon-sagemaker-examples, triton_resnet50.ipynb). Raises :class:`ValueError`: this is not an
    image that Pillow can decode."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(image)) as opened:
            resized = np.asarray(opened.convert("RGB").resize((width, height)), np.float32) / 255
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise ValueError("is not an image") from error
    normal = (resized - np.array(mean, np.float32)) / np.array(std, np.float32)
    return np.ascontiguousarray(normal.transpose(2, 0, 1))
