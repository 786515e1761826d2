"""The inputs and outputs of a config, shapes and types as Triton compares them, and files of their raw data."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from triton_ensembles.checking.fault import Finding, Place
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.triton.model_config import DataType

VARIABLE = -1
ELEMENT_BYTES = {
    "TYPE_BOOL": 1, "TYPE_UINT8": 1, "TYPE_INT8": 1, "TYPE_UINT16": 2, "TYPE_INT16": 2, "TYPE_FP16": 2, "TYPE_BF16": 2,
    "TYPE_UINT32": 4, "TYPE_INT32": 4, "TYPE_FP32": 4, "TYPE_UINT64": 8, "TYPE_INT64": 8, "TYPE_FP64": 8,
}  # fmt: skip


def tensors(model: Model) -> Iterator[tuple[str, int, Any]]:
    """("input" or "output", index, ModelInput or ModelOutput) of every tensor of the config, as far as it is known."""
    for kind in ("input", "output"):
        with suppress(UnknownValueError):
            yield from enumerated(model, kind)


def enumerated(model: Model, kind: str) -> Iterator[tuple[str, int, Any]]:
    for index, tensor in enumerate(getattr(model.config, kind)):
        yield kind, index, tensor


def dims_of(tensor: Any) -> list[int] | None:
    """The axes of an input or output that its model sees, without that of the batch; None where the config has none."""
    return list(tensor.reshape.shape) if tensor.HasField("reshape") else list(tensor.dims) or None


def sequence_inputs(model: Model) -> set[str]:
    """The inputs that are not under ``input``: those of the sequence batcher and of its states."""
    batching = model.config.sequence_batching
    return {control.name for control in batching.control_input} | {state.input_name for state in batching.state}


def repeated(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(index, name) of each that has come before."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield index, name
        seen.add(name)


def type_name(data_type: int) -> str:
    return DataType.Name(data_type) if data_type in DataType.values() else str(data_type)


def same_shape(first: Sequence[int], second: Sequence[int]) -> bool:
    """As triton/common CompareDimsWithWildcard: equal, where -1 equals everything."""
    return len(first) == len(second) and all(a == b or -1 in (a, b) for a, b in zip(first, second, strict=True))


def element_count(dims: Sequence[int]) -> int:
    """As triton/common GetElementCount: -1 when a dimension is variable, 0 for no dimensions."""
    return VARIABLE if VARIABLE in dims else math.prod(dims) if dims else 0


def named_indexes(names: Sequence[str]) -> list[int] | None:
    """The index of each name when all are ``NAME__INDEX``, else None: Triton then goes by their order. As libtorch.cc
    reads them: from the first ``__`` on, all digits; none are 0."""
    matches = [re.search(r"__([0-9]*)\Z", name) for name in names if name.find("__") == name.rfind("__")]
    indexes = [int(match[1][:9] or 0) for match in matches if match]
    return indexes if len(indexes) == len(names) else None


def missing_or_short(
    model: Model, place: Place, folder: str, name: str, data_type: int, dims: Sequence[int]
) -> Iterator[Finding]:
    """The fault of a file of raw data that ``place`` names: shared by initial states and warm-up samples."""
    path = f"{folder}/{name}"
    entry = model.named(path)
    # As triton/common counts them: text and unknown types as 4 bytes for each element.
    needed = ELEMENT_BYTES.get(type_name(data_type), 4) * element_count(dims)
    if entry is None or entry.is_folder:
        if not model.is_made(path):
            effect = f"Triton refuses it: failed to open text file for read {path}: No such file or directory"
            yield Finding(place, f"there is no file {path}", effect, f"put it into {model.folder}/{folder}/")
    elif entry.size < needed and data_type != DataType.TYPE_STRING:
        effect = f"expects {needed} bytes, but the data provided from {name} only has {entry.size} bytes"
        message = f"{path} has {entry.size} bytes, and the tensor needs {needed}"
        yield Finding(place, message, f"Triton refuses it: {effect}", "write a longer file")
