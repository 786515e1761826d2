"""Many requests become one run of an engine, and each request gets its own rows back. Needs only numpy.

The dynamic batcher passes ``execute`` a list of requests, which a Python-based backend must itself join.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Run = Callable[[Mapping[str, Array], tuple[str, ...]], Sequence[Array]]
"""An engine: arrays by input name and the names of the wanted outputs -> one array for each output, in this order."""


class BadInputError(ValueError):
    """The request is invalid; the client gets this text with status INVALID_ARG (HTTP 400)."""


@dataclass(frozen=True)
class Request:
    """An inference request."""

    inputs: Mapping[str, Array]  # axis 0 is the batch when the model has a batch axis
    wanted: tuple[str, ...]  # names of the outputs to return


Result = Mapping[str, Array] | Exception
"""The answer to one :class:`Request`: arrays by output name, or the error."""


def run_batch(requests: Sequence[Request], run: Run, *, batched: bool) -> list[Result]:
    """Answer all requests, in their order, with one run for all those whose rows have the same shape. Triton's dynamic
    batcher only joins requests of equal shape, unless an input allows ragged batches; then there is one run for each
    shape. A run that fails is repeated for each request, so that one bad request (with a token id beyond the
    vocabulary, for example) fails alone. Without a batch axis there is one run for each request."""
    groups: dict[object, list[int]] = {}
    for index, request in enumerate(requests):
        shapes = tuple((name, array.shape[1:]) for name, array in sorted(request.inputs.items()))
        groups.setdefault(shapes if batched else index, []).append(index)
    results: dict[int, Result] = {}
    for group in groups.values():
        results |= zip(group, _run_group([requests[index] for index in group], run), strict=True)
    return [results[index] for index in range(len(requests))]


def _run_group(requests: Sequence[Request], run: Run) -> list[Result]:
    # dict.fromkeys: each output once, always in the same order.
    requested = tuple(dict.fromkeys(name for request in requests for name in request.wanted))
    try:
        if len(requests) == 1:
            return [dict(zip(requested, run(requests[0].inputs, requested), strict=True))]
        joined = {name: np.concatenate([request.inputs[name] for request in requests]) for name in requests[0].inputs}
        counts = [len(next(iter(request.inputs.values()))) for request in requests]
        outputs = run_rows(run, joined, requested, sum(counts))
    except Exception as error:  # an engine's error is caused by one request, and must not fail the others
        if len(requests) == 1:
            return [error]
        return [result for request in requests for result in _run_group([request], run)]
    results: list[Result] = []
    first = 0
    for request, count in zip(requests, counts, strict=True):  # contiguous views, no copies
        results.append({name: outputs[name][first : first + count] for name in request.wanted})
        first += count
    return results


def run_rows(run: Run, inputs: Mapping[str, Array], requested: tuple[str, ...], rows: int) -> dict[str, Array]:
    """The outputs of one run by name. Raises ValueError for one that does not have ``rows`` rows."""
    outputs = dict(zip(requested, run(inputs, requested), strict=True))
    for name, array in outputs.items():
        if array.ndim == 0 or len(array) != rows:
            raise ValueError(f"output {name} has shape {list(array.shape)} for a batch of {rows} rows")
    return outputs


def decoded(name: str, array: Array) -> list[str]:
    """The elements of an input of Triton's TYPE_STRING, which are bytes, as text, in C order. Raises BadInputError."""
    try:
        return [item.decode() for item in array.ravel()]
    except UnicodeDecodeError as error:
        raise BadInputError(f"input {name} holds text that is not UTF-8: {error}") from error
