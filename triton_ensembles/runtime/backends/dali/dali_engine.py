"""Runs a serialized DALI pipeline over the rows of a whole dynamic batch.

Samples of a batch differ in length, so requests need not have one shape (``allow_ragged_batch``, as with the native
backend). Other than there, a row that cannot be processed fails only its own request, the size of images is limited
(images.py), and a dali.py instead of model.dali is not supported.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from nvidia.dali import Pipeline

from triton_ensembles.runtime.backends.common.batching import Array, BadInputError, Request, Result
from triton_ensembles.runtime.backends.common.model_instance import (
    LoadError,
    ModelInstance,
    check_tensor,
    check_tensors,
)
from triton_ensembles.runtime.backends.dali import images
from triton_ensembles.runtime.backends.dali.pipeline_file import PipelineFile, read_pipeline_file


@dataclass(frozen=True)
class InputSample:
    """A row of a request: its arrays by input name, and how many pixels it will decode to (0 without images)."""

    arrays: Mapping[str, Array]
    pixels: int


@dataclass(frozen=True)
class OutputSample:
    """The outputs of a row: ``block`` has one entry for each output, ``position`` is the row's index in each."""

    block: Sequence[Array | list[Array]]
    position: int


class DaliEngine:
    """A pipeline for one model instance. Raises LoadError if the file is none, or its tensors are not the config's."""

    def __init__(self, model: ModelInstance) -> None:
        self._model = model
        self._file = read_pipeline_file(model.file)
        _check(model, self._file)
        self._rows_at_once = model.max_batch_size or self._file.batch_size
        self._pixels_at_once = model.integer("max_image_pixels", images.MAX_PIXELS)
        self._options: dict[str, Any] = {
            "batch_size": self._rows_at_once,
            "device_id": model.gpu,
            "prefetch_queue_depth": 1,  # with more, a batch would be answered only with a later batch
        }
        if "num_threads" in model.parameters:
            self._options["num_threads"] = model.integer("num_threads", 0)
        self._pipeline: Any = self._built()

    def answer(self, requests: Sequence[Request]) -> list[Result]:
        """Run the pipeline once for the rows of all requests; more often only for too many pixels, or after errors."""
        prepared = [self._rows(request) for request in requests]
        batch = [row for rows in prepared if not isinstance(rows, Exception) for row in rows]
        runs = list(self._runs(batch))
        samples = iter([sample for rows in runs for sample in self._run(rows, keep=len(runs) > 1)])
        return [
            rows if isinstance(rows, Exception) else self._collect(request, [next(samples) for _ in rows])
            for request, rows in zip(requests, prepared, strict=True)
        ]

    def close(self) -> None:
        self._pipeline = None

    def _built(self) -> Any:
        try:
            return Pipeline.deserialize(self._file.serialized, **self._options)
        except RuntimeError as error:
            raise LoadError(f"DALI cannot build {self._model.file.name}: {_reason(error)}") from error

    def _rows(self, request: Request) -> list[InputSample] | Exception:
        """The rows of a request, or the error of its first bad row."""
        rows = []
        for index in range(len(next(iter(request.inputs.values())))):
            arrays = {name: array[index] for name, array in request.inputs.items()}
            pixels = 0
            for name in self._file.image_inputs & arrays.keys():
                arrays[name] = images.unpadded(arrays[name])
                try:
                    pixels += images.pixels(arrays[name], self._pixels_at_once)
                except BadInputError as error:
                    return BadInputError(f"row {index} of {name}: {error}")
            rows.append(InputSample(arrays, pixels))
        return rows

    def _runs(self, rows: Sequence[InputSample]) -> Iterator[Sequence[InputSample]]:
        """Cut the batch where it would have too many rows, or more pixels than one image: they take memory together."""
        first = pixels = 0
        for index, row in enumerate(rows):
            if index > first and (index - first == self._rows_at_once or pixels + row.pixels > self._pixels_at_once):
                yield rows[first:index]
                first, pixels = index, 0
            pixels += row.pixels
        if rows:
            yield rows[first:]

    def _run(self, rows: Sequence[InputSample], keep: bool) -> list[OutputSample | Exception]:
        """Run the rows together; when that fails, each half separately, down to the row that causes the error. ``keep``
        copies the outputs, because DALI writes those of the next run into the same buffers."""
        try:
            if self._pipeline is None:
                self._pipeline = self._built()
            for name in rows[0].arrays:
                self._pipeline.feed_input(name, [row.arrays[name] for row in rows])
            block = [_on_cpu(output, keep) for output in self._pipeline.run()]
        except (RuntimeError, TypeError, ValueError) as error:
            # "Current pipeline object is no longer valid", says DALI; a new one takes two milliseconds on the CPU.
            self._pipeline = None
            if len(rows) == 1:
                return [self._refusal(error)]
            half = len(rows) // 2
            return self._run(rows[:half], keep=True) + self._run(rows[half:], keep=True)
        return [OutputSample(block, position) for position in range(len(rows))]

    def _refusal(self, error: Exception) -> BadInputError:
        is_image = "decoders" in str(error) and self._file.image_inputs
        reason = _reason(error) or "its data is broken or cut off"
        return BadInputError(f"{'not an image that DALI can decode' if is_image else 'DALI refuses it'}: {reason}")

    def _collect(self, request: Request, samples: Sequence[OutputSample | Exception]) -> Result:
        """The outputs that one request asked for, or the error of its first bad row."""
        names = ", ".join(sorted(request.inputs))
        for index, sample in enumerate(samples):
            if isinstance(sample, Exception):
                return BadInputError(f"row {index} of {names}: {sample}")
        good = [sample for sample in samples if isinstance(sample, OutputSample)]
        order = {tensor.name: number for number, tensor in enumerate(self._model.outputs)}
        result = {}
        for name in request.wanted:
            try:
                result[name] = _join(good, order[name])
            except ValueError as error:
                return BadInputError(f"output {name}: {error}")
        return result


def _join(samples: Sequence[OutputSample], output: int) -> Array:
    """The rows of one output as one array: a view when they come from one run."""
    first = samples[0]
    entry = first.block[output]
    if isinstance(entry, np.ndarray) and samples[-1].block is first.block:
        return entry[first.position : first.position + len(samples)]
    rows = [sample.block[output][sample.position] for sample in samples]
    if len({row.shape for row in rows}) > 1:
        shapes = ", ".join(sorted({str(list(row.shape)) for row in rows}))
        raise ValueError(f"the rows of this request have different output shapes ({shapes}); send them one by one")
    return np.stack(rows)


def _on_cpu(output: Any, keep: bool) -> Array | list[Array]:
    """A DALI tensor list as one array when all its samples have one shape, otherwise as a list of arrays."""
    tensors = output.as_cpu()
    if tensors.is_dense_tensor():
        array: Array = np.asarray(tensors.as_tensor())
        return array.copy() if keep else array
    return [np.array(tensors[position]) for position in range(len(tensors))]


def _reason(error: Exception) -> str:
    """The reason inside DALI's message. A message reads "Critical error in pipeline: … encountered: <reason> Current
    pipeline object is no longer valid."; "Failed to decode sample #3 : " counts samples of the batch, not of the
    request, and often ends there."""
    text = str(error).rpartition("encountered:")[2].partition("Current pipeline object")[0]
    text = re.sub(r"Failed to decode sample #\d+\s*:?", "", text)
    return " ".join(text.split())


def _check(model: ModelInstance, file: PipelineFile) -> None:
    """Inputs are matched by name; outputs, which have no names in DALI, by their order, as in the native backend."""
    check_tensors("input", model.inputs, file.inputs, batched=model.batched, all_needed=True)
    if len(model.outputs) != len(file.outputs):
        raise LoadError(f"the config has {len(model.outputs)} outputs, but the pipeline returns {len(file.outputs)}")
    for tensor, there in zip(model.outputs, file.outputs, strict=True):
        check_tensor("output", tensor, there, batched=model.batched)
