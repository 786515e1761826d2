"""Rows of different lengths in one run: grouped by length, shorter ones padded with zeros, outputs cut to length.

For models that mask padding, as sentence encoders do: the parameter ``padded_batching: "true"`` of a config says that
positions at the end of a row where all inputs of variable length are zero are padding. The server passes requests of
different shapes when ``allow_ragged_batch`` is set, whose rows NVIDIA's native backends concatenate.

Rows are regrouped and not requests, because a request of many sentences is as wide as its longest one. Outputs at
padding are zeros, so that no answer depends on the other requests of a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from triton_ensembles.runtime.backends.common.batching import Array, BadInputError, Request, Result, Run, run_rows
from triton_ensembles.runtime.backends.common.model_instance import LoadError

# The cost of a run itself, in padded positions. Measured with all-MiniLM-L6-v2 on two Zen 4 cores: one more run takes
# as long as 16 to 22 more tokens in a large run. For sentences of 8 to 128 tokens, 32 at a time, ONNX Runtime is
# fastest with 16 to 24, OpenVINO with 24 to 96.
RUN_COST = 24


@dataclass(frozen=True)
class Axes:
    """Axes of variable length, by tensor name, for inputs and outputs; axis 0 is the batch."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


class Row(NamedTuple):
    """A row: the index of its request, its index in that request, and its length without padding."""

    request: int
    number: int
    length: int


def find_axes(inputs: Mapping[str, Sequence[object]], outputs: Mapping[str, Sequence[object]]) -> Axes:
    """The axes with the name of the one variable length of a model file's inputs. Both arguments are shapes by tensor
    name, as ONNX has them: a text for an axis of any size; axis 0 is the batch. Raises LoadError: the inputs have no
    such axis, or several of different names."""
    names = {size for shape in inputs.values() for size in shape[1:] if isinstance(size, str)}
    if len(names) != 1:
        known = ", ".join(sorted(names)) or "none"
        raise LoadError(f"padded_batching needs one named axis of any size in the file's inputs, but there is: {known}")
    (length,) = names
    in_inputs, in_outputs = (
        {name: list(shape).index(length) for name, shape in tensors.items() if length in shape[1:]}
        for tensors in (inputs, outputs)
    )
    return Axes(in_inputs, in_outputs)


def run_padded(requests: Sequence[Request], run: Run, axes: Axes) -> list[Result]:
    """Answer all requests, in their order, in the cheapest runs. A request that makes a run fail fails alone."""
    batch = _Batch(requests, axes)
    for group in cheapest_groups([row.length for row in batch.rows]):
        batch.answer([batch.rows[index] for index in group], run)
    return [batch.errors.get(number) or batch.answers[number] for number in range(len(requests))]


class _Batch:
    """The requests of one execution, and their results so far."""

    def __init__(self, requests: Sequence[Request], axes: Axes) -> None:
        self._requests, self._axes = requests, axes
        self.rows: list[Row] = []
        self.answers: list[dict[str, Array]] = [{} for _ in requests]
        self.errors: dict[int, Exception] = {}
        for number, request in enumerate(requests):
            try:
                self.rows += [Row(number, row, length) for row, length in enumerate(_lengths(request.inputs, axes))]
            except BadInputError as error:
                self.errors[number] = error

    def answer(self, rows: Sequence[Row], run: Run) -> None:
        """Run these rows together or, when that fails, those of each request separately."""
        by_request = [list(part) for _, part in groupby(rows, key=lambda row: row.request)]
        parts = [part for part in by_request if part[0].request not in self.errors]
        if not parts:
            return
        outputs = tuple(dict.fromkeys(name for part in parts for name in self._requests[part[0].request].wanted))
        try:
            if len(parts) == 1 and self._is_whole(parts[0]):  # nothing to copy
                number = parts[0][0].request
                self.answers[number] = dict(zip(outputs, run(self._requests[number].inputs, outputs), strict=True))
            else:
                self._put(parts, run_rows(run, self._joined(parts), outputs, sum(map(len, parts))))
        except Exception as error:  # an engine's error is caused by one request, and must not fail the others
            if len(parts) == 1:
                self.errors[parts[0][0].request] = error
            else:
                for part in parts:
                    self.answer(part, run)

    def _is_whole(self, rows: Sequence[Row]) -> bool:
        """Return whether these are all rows of their request, and none has padding."""
        count, width = self._size(rows[0].request)
        return len(rows) == count and all(row.length == width for row in rows)

    def _size(self, number: int) -> tuple[int, int]:
        """The number of rows of a request, and their length with padding."""
        name, axis = next(iter(self._axes.inputs.items()))
        shape = self._requests[number].inputs[name].shape
        return shape[0], shape[axis]

    def _joined(self, parts: Sequence[Sequence[Row]]) -> dict[str, Array]:
        """The inputs of one run, with all rows as long as the longest."""
        longest = max(row.length for part in parts for row in part)
        joined = {}
        for name in self._requests[parts[0][0].request].inputs:
            arrays = [self._rows(name, part) for part in parts]
            if name in self._axes.inputs:
                arrays = [_resized(array, self._axes.inputs[name], longest) for array in arrays]
            joined[name] = np.concatenate(arrays)
        return joined

    def _rows(self, name: str, part: Sequence[Row]) -> Array:
        array = self._requests[part[0].request].inputs[name]
        return array if len(part) == len(array) else array[[row.number for row in part]]

    def _put(self, parts: Sequence[Sequence[Row]], outputs: Mapping[str, Array]) -> None:
        first = 0
        for part in parts:
            for name in self._requests[part[0].request].wanted:
                self._put_part(name, part, outputs[name][first : first + len(part)])
            first += len(part)

    def _put_part(self, name: str, rows: Sequence[Row], array: Array) -> None:
        count, width = self._size(rows[0].request)
        axis = self._axes.outputs.get(name)
        answer = self.answers[rows[0].request]
        if self._is_whole(rows):  # the slice is the whole answer, and need not be copied for a single row
            answer[name] = np.ascontiguousarray(array if axis is None else _resized(array, axis, width))
            return
        shape = [count, *array.shape[1:]]
        if axis is not None:
            shape[axis] = width
        if name not in answer:
            answer[name] = np.zeros(shape, array.dtype)
        if axis is None:
            answer[name][[row.number for row in rows]] = array
            return
        whole, array = np.moveaxis(answer[name], axis, 1), np.moveaxis(array, axis, 1)
        for row, values in zip(rows, array, strict=True):
            whole[row.number, : row.length] = values[: row.length]


def _lengths(inputs: Mapping[str, Array], axes: Axes) -> list[int]:
    """The length of each row without padding. Raises BadInputError where that of the inputs differs."""
    widths = {inputs[name].shape[axis] for name, axis in axes.inputs.items()}
    if len(widths) != 1:
        raise BadInputError(f"{', '.join(sorted(axes.inputs))} have different lengths")
    for name in axes.inputs:  # the usual case is one row without padding, which its last value shows
        array = inputs[name]
        if array.ndim == 2 and array.size and array[:, -1].all():
            return [*widths] * len(array)
    nonzero = [np.moveaxis(inputs[name], axis, 1) != 0 for name, axis in axes.inputs.items()]
    used = np.logical_or.reduce([mask.reshape(*mask.shape[:2], -1).any(axis=2) for mask in nonzero])
    positions = np.arange(1, used.shape[1] + 1)
    # A row of padding only keeps one position: engines cannot take tensors without elements.
    lengths: list[int] = (used * positions).max(axis=1, initial=min(1, len(positions))).tolist()
    return lengths


def _resized(array: Array, axis: int, length: int) -> Array:
    """``array`` cut, or padded with zeros, to ``length`` along ``axis``."""
    missing = length - array.shape[axis]
    if missing <= 0:
        return array[(slice(None),) * axis + (slice(length),)]
    # np.pad takes ten times as long, and for most requests this is all the work.
    padded = np.zeros([*array.shape[:axis], length, *array.shape[axis + 1 :]], array.dtype)
    padded[(slice(None),) * axis + (slice(array.shape[axis]),)] = array
    return padded


def cheapest_groups(lengths: Sequence[int]) -> list[list[int]]:
    """The runs of rows of these ``lengths``, in positions, for which the sum of RUN_COST + rows x longest length is
    least: for each run the indices of its rows, in their order. Each run holds rows that are next to each other in
    order of length, and equal lengths stay together. So it is found by dynamic programming over the places to cut, in n
    x n / 2 steps for n different lengths."""
    members: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        members.setdefault(length, []).append(index)
    sizes = sorted(members)
    best: list[tuple[float, int]] = [(0.0, 0)]  # least cost of the first n sizes, and where their last run begins
    for end in range(1, len(sizes) + 1):
        rows = 0
        choices = []
        for start in range(end - 1, -1, -1):
            rows += len(members[sizes[start]])
            choices.append((best[start][0] + RUN_COST + rows * sizes[end - 1], start))
        best.append(min(choices))
    groups, end = [], len(sizes)
    while end:
        start = best[end][1]
        groups.append(sorted(index for size in sizes[start:end] for index in members[size]))
        end = start
    return groups
