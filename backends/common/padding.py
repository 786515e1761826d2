"""Requests of different lengths in one run: the shorter ones are padded with zeros, their outputs cut back.

For models that mask padding, as sentence encoders do. The author of a config says so by the parameter
``padded_batching: "true"``; the server hands over requests of different shapes when ``allow_ragged_batch`` is set.
(NVIDIA's native backends do something else with ragged batches: they string the rows together.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from batching import Array, BadInputError, Result, Run, Work, run_batch
from declared import LoadError

# What a run costs by itself, in padded positions. Measured with all-MiniLM-L6-v2 and ONNX Runtime on two Zen 4 cores:
# a run of one sentence of 14 tokens takes as long as 22 more tokens in a run of many.
RUN_COST = 8


@dataclass(frozen=True)
class Axes:
    """Which axis of each tensor has the variable length, by tensor name; axis 0 is the batch."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


def find_axes(inputs: Mapping[str, Sequence[object]], outputs: Mapping[str, Sequence[object]]) -> Axes:
    """The axes that bear the name of the one variable length of a model file's inputs.

    Args:
        inputs: shapes by tensor name, with a text for an axis of any size, as ONNX has them; axis 0 is the batch.

    Raises:
        LoadError: the inputs have no such axis, or several of different names.
    """
    names = {size for shape in inputs.values() for size in shape[1:] if isinstance(size, str)}
    if len(names) != 1:
        found = ", ".join(sorted(names)) or "none"
        raise LoadError(f"padded_batching needs one named axis of any size in the file's inputs, and there is: {found}")
    (length,) = names
    return Axes(
        *(
            {name: list(shape).index(length) for name, shape in tensors.items() if length in shape[1:]}
            for tensors in (inputs, outputs)
        )
    )


def run_padded(works: Sequence[Work], run: Run, axes: Axes) -> list[Result]:
    """Answer all works, in their order, in as few runs as pays."""
    results: dict[int, Result] = {}
    lengths: dict[int, int] = {}
    for index, work in enumerate(works):
        sizes = {work.inputs[name].shape[axis] for name, axis in axes.inputs.items()}
        if len(sizes) == 1:
            lengths[index] = sizes.pop()
        else:
            results[index] = BadInputError(f"{', '.join(sorted(axes.inputs))} have different lengths")
    rows = {index: len(next(iter(works[index].inputs.values()))) for index in lengths}
    for group in cheapest_groups(lengths, rows):
        longest = max(lengths[index] for index in group)
        padded = [replace(works[index], inputs=_padded(works[index].inputs, axes, longest)) for index in group]
        for index, result in zip(group, run_batch(padded, run, batched=True), strict=True):
            results[index] = _cut(result, axes, lengths[index], longest)
    return [results[index] for index in range(len(works))]


def cheapest_groups(lengths: Mapping[int, int], rows: Mapping[int, int]) -> list[list[int]]:
    """Split the requests into runs with the least total of RUN_COST a run and rows x longest length.

    Runs of the cheapest split are neighbours in the order of length, so that it is found by dynamic programming over
    the places to cut: n x n / 2 steps for n requests.
    """
    order = sorted(lengths, key=lambda index: lengths[index])
    best: list[tuple[float, int]] = [(0.0, 0)]  # least cost of the first n requests, and where their last run begins
    for end in range(1, len(order) + 1):
        longest, together = lengths[order[end - 1]], 0
        choices = []
        for start in range(end - 1, -1, -1):
            together += rows[order[start]]
            choices.append((best[start][0] + RUN_COST + together * longest, start))
        best.append(min(choices))
    groups, end = [], len(order)
    while end:
        start = best[end][1]
        groups.append(order[start:end])
        end = start
    return groups


def _padded(inputs: Mapping[str, Array], axes: Axes, length: int) -> dict[str, Array]:
    return {
        name: _pad(array, axes.inputs[name], length) if name in axes.inputs else array for name, array in inputs.items()
    }


def _pad(array: Array, axis: int, length: int) -> Array:
    missing = length - array.shape[axis]
    if not missing:
        return array
    return np.pad(array, [(0, missing if number == axis else 0) for number in range(array.ndim)])


def _cut(result: Result, axes: Axes, length: int, padded: int) -> Result:
    if isinstance(result, Exception) or length == padded:
        return result
    return {
        name: np.ascontiguousarray(array[(slice(None),) * axes.outputs[name] + (slice(length),)])
        if name in axes.outputs
        else array
        for name, array in result.items()
    }
