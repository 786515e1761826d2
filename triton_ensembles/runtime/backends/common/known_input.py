"""A known input of a model, and its answer, by which two files of one model are compared.

The values follow from the tensors' names and a fixed arithmetic, whatever numpy; a record needs only types and shapes.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.backends.common.model_instance import TRITON_TYPES, Tensor

# Triton's name of an element type -> numpy's, for those that values can be made of.
_TYPES = {triton: name for name, triton in TRITON_TYPES.items() if name != "string"}
# Sizes of axes that may have any, smallest first: sentences are content with the first, images need more.
_SIZES = (8, 32, 224)
# The values of integers, from the first to below the second: ids of a vocabulary, a mask, and ids that are all valid.
_INTEGERS = ((0, 1000), (0, 2), (1, 2))
# A difference within this share of the largest value is rounding: a session with more threads may add in another order.
_TOLERANCE = 1e-3
_MOST_VALUES = 1024  # of an output that are recorded

Answer = Mapping[str, tuple[float, ...]]
"""Values of a model's outputs, by name."""


@dataclass(frozen=True)
class KnownTensor:
    """An input. ``type`` is numpy's; integers are from ``least`` to below ``most``, and floats from -1 to below 1."""

    type: str
    shape: tuple[int, ...]
    least: int
    most: int

    def values(self, name: str) -> Array:
        """The values of the input ``name``: Fibonacci hashing of the elements' numbers."""
        count = int(np.prod(self.shape, dtype=np.int64))
        numbers = np.arange(count, dtype=np.uint64) + np.uint64(zlib.crc32(name.encode()))
        hashed = (numbers * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)  # 31 bits; the product wraps
        if self.type == "bool":
            values = hashed % np.uint64(2) == 1
        elif self.type.startswith("float"):
            values = hashed.astype(np.float64) / 2**30 - 1
        else:
            values = hashed.astype(np.int64) % (self.most - self.least) + self.least
        typed: Array = values.astype(self.type).reshape(self.shape)
        return typed


def known_tensors(inputs: Sequence[Tensor]) -> Iterator[dict[str, KnownTensor]]:
    """Inputs to try, by name, for the ``inputs`` of a file; none for a model of strings or of no declared rank. The
    model says which of them is valid: it may refuse ids beyond its vocabulary, or images that are too small."""
    if not inputs or any(tensor.data_type not in _TYPES or tensor.dims is None for tensor in inputs):
        return
    for size in _SIZES:
        for least, most in _INTEGERS:
            yield {tensor.name: _known(tensor, size, least, min(most, 128)) for tensor in inputs}


def _known(tensor: Tensor, size: int, least: int, most: int) -> KnownTensor:
    """Variable axes get ``size``, and the first one 1: it is the batch."""
    shape = [size if axis == -1 else axis for axis in tensor.dims or ()]
    if tensor.dims and tensor.dims[0] == -1:
        shape[0] = 1
    return KnownTensor(_TYPES[str(tensor.data_type)], tuple(shape), least, most)


def values_of(known: Mapping[str, KnownTensor]) -> dict[str, Array]:
    """The arrays of an input, by name."""
    return {name: tensor.values(name) for name, tensor in known.items()}


def sampled(names: Iterable[str], outputs: Iterable[Array]) -> Answer:
    """At most about a thousand values of each output, from all over it: an odd step passes every column in turn."""
    steps = ((name, array, max(1, array.size // _MOST_VALUES) | 1) for name, array in zip(names, outputs, strict=True))
    return {name: tuple(array.ravel()[::step].astype(np.float64).tolist()) for name, array, step in steps}


def agree(answer: Answer, expected: Answer) -> bool:
    """Return whether two answers differ by rounding only. Values that are not finite agree with nothing."""
    return all(_agree(np.array(answer[name]), np.array(values)) for name, values in expected.items())


def _agree(values: Array, expected: Array) -> bool:
    if values.shape != expected.shape:
        return False
    limit = _TOLERANCE * np.abs(expected).max(initial=0)
    return bool((np.abs(values - expected) <= limit).all())
