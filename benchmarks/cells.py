"""Measurements as values: a cell is one contender under one load in one round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.loads import Load
from triton_ensembles.ground.errors import EnsembleError


@dataclass(frozen=True)
class Cell:
    """One measurement.

    Attributes:
        throughput: rows (texts or images) per second.
        p50_ms: of the latencies of requests; for a limit of batches.
        client: cores that the client uses on average.
        others: those that all other processes use.
    """

    throughput: float
    p50_ms: float
    client: float = 0.0
    others: float = 0.0

    @property
    def core_seconds(self) -> float:
        """Processor time of a row, of all processes together."""
        return (self.client + self.others) / self.throughput


@dataclass(frozen=True)
class Measurement:
    """A cell and its place in the run; ``round`` counts from 1."""

    round: int
    contender: str
    load: Load
    cell: Cell


def rate(times: Sequence[float], rows: Sequence[float]) -> float:
    """Rows per second: the slope of the straight line (least squares) through (time, rows answered until then).

    A count over a fixed time would be wrong by a whole burst: 32 images may be answered at once every two seconds.
    Raises :class:`EnsembleError` when there are fewer than two different times.
    """
    moments = np.asarray(times, float)
    if len(moments) < 2 or moments[0] == moments[-1]:
        raise EnsembleError("too few requests were answered to compute a rate", cure="measure longer, with --seconds")
    return float(np.polyfit(moments - moments[0], np.asarray(rows, float), 1)[0])
