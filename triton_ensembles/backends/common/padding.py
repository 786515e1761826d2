"""Rows of different lengths in one run: grouped by length, the shorter ones padded with zeros, the outputs put back.

For models that mask padding, as sentence encoders do. The author of a config says so by the parameter
``padded_batching: "true"``: where all the inputs of variable length are zero up to a row's end, there is padding. The
server hands over requests of different shapes when ``allow_ragged_batch`` is set. (NVIDIA's native backends do
something else with ragged batches: they string the rows together.)

Rows are regrouped and not requests, because a request of many sentences comes as wide as its longest one. Outputs at
padding are zeros, so that no answer depends on who else was in a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from triton_ensembles.backends.common.batching import Array, BadInputError, Result, Run, Work
from triton_ensembles.backends.common.declared import LoadError
from triton_ensembles.backends.common.grouping import cheapest_groups


@dataclass(frozen=True)
class Axes:
    """Which axis of each tensor has the variable length, by tensor name; axis 0 is the batch."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


class Row(NamedTuple):
    """One row of one request, both by number, and its length without padding."""

    work: int
    number: int
    length: int


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
    """Answer all works, in their order, in as few runs as pays. A work whose run fails, fails alone."""
    batch = _Batch(works, axes)
    for group in cheapest_groups([row.length for row in batch.rows]):
        batch.answer([batch.rows[index] for index in group], run)
    return [batch.errors.get(number) or batch.answers[number] for number in range(len(works))]


class _Batch:
    """The works of one execution, and what is known of their results."""

    def __init__(self, works: Sequence[Work], axes: Axes) -> None:
        self._works, self._axes = works, axes
        self.rows: list[Row] = []
        self.answers: list[dict[str, Array]] = [{} for _ in works]
        self.errors: dict[int, Exception] = {}
        for number, work in enumerate(works):
            try:
                self.rows += [Row(number, row, length) for row, length in enumerate(_lengths(work.inputs, axes))]
            except BadInputError as error:
                self.errors[number] = error

    def answer(self, rows: Sequence[Row], run: Run) -> None:
        """Run these rows together, or those of each work by themselves when that fails."""
        parts = [part for part in _by_work(rows) if part[0].work not in self.errors]
        if not parts:
            return
        wanted = tuple(dict.fromkeys(name for part in parts for name in self._works[part[0].work].wanted))
        try:
            if len(parts) == 1 and self._is_whole(parts[0]):  # nothing to copy
                number = parts[0][0].work
                self.answers[number] = dict(zip(wanted, run(self._works[number].inputs, wanted), strict=True))
            else:
                self._put(parts, dict(zip(wanted, run(self._joined(parts), wanted), strict=True)))
        except Exception as error:  # whatever the engine raises belongs to a request, and must not end the others
            if len(parts) == 1:
                self.errors[parts[0][0].work] = error
            else:
                for part in parts:
                    self.answer(part, run)

    def _is_whole(self, rows: Sequence[Row]) -> bool:
        """Whether these are all the rows of their work, and none of them has padding."""
        count, width = self._size(rows[0].work)
        return len(rows) == count and all(row.length == width for row in rows)

    def _size(self, number: int) -> tuple[int, int]:
        """How many rows a work has, and how long they are with padding."""
        name, axis = next(iter(self._axes.inputs.items()))
        shape = self._works[number].inputs[name].shape
        return shape[0], shape[axis]

    def _joined(self, parts: Sequence[Sequence[Row]]) -> dict[str, Array]:
        """The inputs of one run, the rows as long as the longest of them."""
        longest = max(row.length for part in parts for row in part)
        joined = {}
        for name in self._works[parts[0][0].work].inputs:
            arrays = [self._rows(name, part) for part in parts]
            if name in self._axes.inputs:
                arrays = [_resized(array, self._axes.inputs[name], longest) for array in arrays]
            joined[name] = np.concatenate(arrays)
        return joined

    def _rows(self, name: str, part: Sequence[Row]) -> Array:
        array = self._works[part[0].work].inputs[name]
        return array if len(part) == len(array) else array[[row.number for row in part]]

    def _put(self, parts: Sequence[Sequence[Row]], outputs: Mapping[str, Array]) -> None:
        for name, array in outputs.items():
            if array.ndim == 0 or len(array) != sum(map(len, parts)):
                raise ValueError(
                    f"output {name} has shape {list(array.shape)} for a batch of {sum(map(len, parts))} rows"
                )
        first = 0
        for part in parts:
            for name in self._works[part[0].work].wanted:
                self._put_part(name, part, outputs[name][first : first + len(part)])
            first += len(part)

    def _put_part(self, name: str, rows: Sequence[Row], array: Array) -> None:
        count, width = self._size(rows[0].work)
        axis = self._axes.outputs.get(name)
        answer = self.answers[rows[0].work]
        if self._is_whole(rows):  # a slice is all of its answer, and of a single row not even a copy
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


def _by_work(rows: Sequence[Row]) -> Iterator[list[Row]]:
    for _, part in groupby(rows, key=lambda row: row.work):
        yield list(part)


def _lengths(inputs: Mapping[str, Array], axes: Axes) -> list[int]:
    """The length of each row without padding.

    Raises:
        BadInputError: the inputs of variable length have different lengths.
    """
    widths = {inputs[name].shape[axis] for name, axis in axes.inputs.items()}
    if len(widths) != 1:
        raise BadInputError(f"{', '.join(sorted(axes.inputs))} have different lengths")
    for name in axes.inputs:  # mostly there is one row, without padding: a look at its end tells
        array = inputs[name]
        if array.ndim == 2 and array.size and array[:, -1].all():
            return [*widths] * len(array)
    there = [np.moveaxis(inputs[name], axis, 1) != 0 for name, axis in axes.inputs.items()]
    used = np.logical_or.reduce([each.reshape(*each.shape[:2], -1).any(axis=2) for each in there])
    positions = np.arange(1, used.shape[1] + 1)
    # A row of nothing but padding keeps one position: engines are not made for tensors without elements.
    lengths: list[int] = (used * positions).max(axis=1, initial=min(1, len(positions))).tolist()
    return lengths


def _resized(array: Array, axis: int, length: int) -> Array:
    """Cut, or padded with zeros, to ``length`` along ``axis``."""
    missing = length - array.shape[axis]
    if missing <= 0:
        return array[(slice(None),) * axis + (slice(length),)]
    # np.pad takes ten times as long, and is all that most requests need besides a copy.
    padded = np.zeros([*array.shape[:axis], length, *array.shape[axis + 1 :]], array.dtype)
    padded[(slice(None),) * axis + (slice(array.shape[axis]),)] = array
    return padded
