"""A server that takes plain HTTP requests, under load by the light client of :mod:`benchmarks.http_load`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cells import Cell, percentiles, rate
from benchmarks.http_load import HttpTarget, run_load
from benchmarks.loads import Load, texts_of
from benchmarks.process_usage import cores, seconds_by_process, seconds_of
from triton_ensembles.errors import EnsembleError

MakeTarget = Callable[[Sequence[Sequence[str]]], HttpTarget]
"""Where requests go; each is its texts."""


@dataclass
class HttpContender:
    """A running server.

    Attributes:
        texts_from: the built repository whose tokenizer counts the texts.
        pid: of the server.
    """

    name: str
    about: str
    loads: Sequence[Load]
    texts_from: Path
    pid: int
    target: MakeTarget

    def warm_up(self, load: Load) -> None:
        run_load(self._target(load), load.concurrency, 1, 0)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        target = self._target(load)
        before = self._processor_time()
        answers = run_load(target, load.concurrency, seconds, warm_up)
        used = cores(before, self._processor_time(), seconds + warm_up)
        if not answers.finished or answers.finished[-1] - answers.finished[0] < seconds / 2:  # one burst has no rate
            raise EnsembleError(f"{self.name} answers too slowly to be measured in {seconds:.1f} s")
        rows = [load.rows * number for number in range(len(answers.finished))]
        return Cell(rate(answers.finished, rows), percentiles(answers.latencies), used)

    def _target(self, load: Load) -> HttpTarget:
        texts = texts_of(load, self.texts_from)
        return self.target([texts[start : start + load.rows] for start in range(0, len(texts), load.rows)])

    def _processor_time(self) -> dict[str, float]:
        return seconds_by_process(self.pid) | {"client": seconds_of(os.getpid())}
