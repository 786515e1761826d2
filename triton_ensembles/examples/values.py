"""The values of an input, out of the JSON itself or out of the file that it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tritonclient.utils import triton_to_np_dtype

from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.file_content import read_content
from triton_ensembles.examples.request import Array
from triton_ensembles.examples.schema import InputTensor


def tensor_values(path: Path, tensor: InputTensor, replacement: Path | None) -> Array:
    """The values of an input of the request at ``path``, in its shape.

    Args:
        replacement: read in place of the file that the input names, if it names one.

    Raises:
        EnsembleError: they are missing, cannot be read, or are not of this datatype and shape.
    """
    named = tensor.parameters.file
    if bool(named) == (tensor.data is not None):
        found = "both data and a file" if named else "neither data nor a file"
        cure = 'give "data", or "parameters": {"file": …}'
        raise EnsembleError(f"{tensor.name} has {found}", path=path, cure=cure)
    source = (replacement or path.parent / named) if named else None
    values = _from_file(path, tensor, source) if source else _from_json(path, tensor)
    try:
        return values.reshape(tensor.shape)
    except ValueError as error:
        raise EnsembleError(
            f"{tensor.name} has the shape {list(tensor.shape)}, and {_shown(source)} has {values.size} values",
            path=path,
            cure="correct the shape; one size may be -1, which is then computed",
        ) from error


def _shown(source: Path | None) -> str:
    return source.name if source else "its data"


def _from_file(path: Path, tensor: InputTensor, source: Path) -> Array:
    mean, std = (_three_numbers(path, tensor, key) for key in ("mean", "std"))
    try:
        values: Array = read_content(source, tensor.datatype, tensor.shape, mean, std)
    except FileNotFoundError as error:
        raise EnsembleError(
            f"{tensor.name} names the file {source.name}, which does not exist", path=path, cure="put it beside this"
        ) from error
    except UnicodeDecodeError as error:
        raise EnsembleError(f"{source.name} is not text in UTF-8", path=path, cure="save it as UTF-8") from error
    except OSError as error:
        raise EnsembleError(f"{source.name} cannot be read: {error.strerror}", path=path) from error
    except ValueError as error:
        cure = f"name a file that holds the {tensor.datatype} of {tensor.name}"
        raise EnsembleError(f"{source.name} {error}", path=path, cure=cure) from error
    wanted = np.dtype(triton_to_np_dtype(tensor.datatype))
    if values.dtype != wanted:
        cure = f"save it as {wanted}"
        raise EnsembleError(f"{source.name} holds {values.dtype}, not {tensor.datatype}", path=path, cure=cure)
    return values


def _three_numbers(path: Path, tensor: InputTensor, key: str) -> list[float]:
    text = str(getattr(tensor.parameters, key))
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    if len(numbers) != 3:
        cure = 'write one for red, green and blue, such as "0.485 0.456 0.406"'
        raise EnsembleError(f"{key} of {tensor.name} is not three numbers: {text!r}", path=path, cure=cure)
    return numbers


def _from_json(path: Path, tensor: InputTensor) -> Array:
    """Nested or flat, as KServe v2 allows both."""
    if tensor.datatype == "BYTES":
        texts = list(_flat(tensor.data))
        if not all(isinstance(text, str) for text in texts):
            raise EnsembleError(f"data of {tensor.name} holds more than strings", path=path, cure="quote each element")
        return np.array([text.encode() for text in texts], dtype=np.object_)
    dtype = np.dtype(triton_to_np_dtype(tensor.datatype))
    try:
        numbers = np.array(list(_flat(tensor.data)))
        values = numbers.astype(dtype)
        numeric = "b" if dtype.kind == "b" else "iuf"
        exact = dtype.kind == "f" or bool((values == numbers).all())
        fits = numbers.size == 0 or (numbers.dtype.kind in numeric and exact)
    except (ValueError, TypeError, OverflowError):
        fits = False
    if not fits:
        cure = f"write {tensor.datatype} values"
        raise EnsembleError(f"data of {tensor.name} is not all {tensor.datatype}", path=path, cure=cure)
    return values


def _flat(data: Any) -> Iterator[Any]:
    for each in data:
        if isinstance(each, list):
            yield from _flat(each)
        else:
            yield each
