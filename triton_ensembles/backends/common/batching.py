"""Many requests in, one run of an engine, and to everyone their own rows. Only numpy: no Triton in here.

The dynamic batcher hands ``execute`` a list of requests; joining them into one array for the engine is what makes it
dynamic *batching*, and no Python-based backend gets that for free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Run = Callable[[Mapping[str, Array], tuple[str, ...]], Sequence[Array]]
"""An engine: arrays by input name, the outputs that are wanted -> one array for each of these, in this order."""


class BadInputError(ValueError):
    """The request is at fault; the client gets this text with status INVALID_ARG (HTTP 400)."""


@dataclass(frozen=True)
class Work:
    """One request: its arrays by input name (batch axis first when the model has one) and the outputs it wants."""

    inputs: Mapping[str, Array]
    wanted: tuple[str, ...]


Result = Mapping[str, Array] | Exception
"""The answer to one :class:`Work`: arrays by output name, or why there are none."""


def run_batch(works: Sequence[Work], run: Run, *, batched: bool) -> list[Result]:
    """Answer all works, in their order, with one run for all those whose rows have the same shape.

    Triton's dynamic batcher only joins requests of equal shape unless an input allows ragged batches; then each shape
    has a run of its own here. A run that fails is repeated request by request, so that one bad request (a token id
    beyond the vocabulary, say) fails alone. Without a batch axis every request is a run.
    """
    results: list[Result | None] = [None] * len(works)
    for group in _groups(works, batched):
        for index, result in zip(group, _run_group([works[i] for i in group], run), strict=True):
            results[index] = result
    return [result for result in results if result is not None]


def _groups(works: Sequence[Work], batched: bool) -> list[list[int]]:
    if not batched:
        return [[index] for index in range(len(works))]
    groups: dict[object, list[int]] = {}
    for index, work in enumerate(works):
        shapes = tuple((name, array.shape[1:]) for name, array in sorted(work.inputs.items()))
        groups.setdefault(shapes, []).append(index)
    return list(groups.values())


def _run_group(works: Sequence[Work], run: Run) -> list[Result]:
    # dict.fromkeys: each output once, in an order that does not change from run to run.
    wanted = tuple(dict.fromkeys(name for work in works for name in work.wanted))
    try:
        if len(works) == 1:
            return [dict(zip(wanted, run(works[0].inputs, wanted), strict=True))]
        joined = {name: np.concatenate([work.inputs[name] for work in works]) for name in works[0].inputs}
        outputs = dict(zip(wanted, run(joined, wanted), strict=True))
        return _split(works, outputs)
    except Exception as error:  # whatever the engine raises belongs to a request, and must not end the others
        if len(works) == 1:
            return [error]
        return [result for work in works for result in _run_group([work], run)]


def _split(works: Sequence[Work], outputs: Mapping[str, Array]) -> list[Result]:
    """Slices along the batch axis: views, contiguous, no copies."""
    counts = [len(next(iter(work.inputs.values()))) for work in works]
    for name, array in outputs.items():
        if array.ndim == 0 or len(array) != sum(counts):
            raise ValueError(f"output {name} has shape {list(array.shape)} for a batch of {sum(counts)} rows")
    results: list[Result] = []
    first = 0
    for work, count in zip(works, counts, strict=True):
        results.append({name: outputs[name][first : first + count] for name in work.wanted})
        first += count
    return results
