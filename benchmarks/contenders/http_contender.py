"""A server that takes plain HTTP requests, under load by the light client of :mod:`benchmarks.http_load`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cells import Cell, percentiles, rate
from benchmarks.http_load import HttpTarget, run_load
from benchmarks.loads import Load, texts_of
from benchmarks.process_usage import cores, seconds_by_process, seconds_of
from triton_ensembles.errors import EnsembleError


class HttpContender:
    """Measures; subclasses start and stop the server.

    Args:
        texts_from: the built repository whose tokenizer counts the texts.
    """

    def __init__(self, name: str, loads: Sequence[Load], texts_from: Path) -> None:
        self.name = name
        self._loads = list(loads)
        self._texts_from = texts_from
        self._targets: dict[tuple[str, int], HttpTarget] = {}

    def loads(self) -> Sequence[Load]:
        return self._loads

    def warm_up(self, load: Load) -> None:
        run_load(self._target(load), load.concurrency, 1, 0)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        target = self._target(load)
        before = self._processor_time()
        answers = run_load(target, load.concurrency, seconds, warm_up)
        used = cores(before, self._processor_time(), seconds + warm_up)
        if not answers.finished or answers.finished[-1] - answers.finished[0] < seconds / 2:
            raise EnsembleError(
                f"{self.name} answers too slowly to be measured in {seconds:.1f} s"
            )  # one burst has no rate
        rows = [load.rows * number for number in range(len(answers.finished))]
        return Cell(rate(answers.finished, rows), percentiles(answers.latencies), used)

    def server_pid(self) -> int:
        raise NotImplementedError

    def target(self, requests: Sequence[Sequence[str]]) -> HttpTarget:
        """Where these requests go; each is its texts."""
        raise NotImplementedError

    def _target(self, load: Load) -> HttpTarget:
        key = (load.content, load.rows)
        if key not in self._targets:
            texts = texts_of(load, self._texts_from)
            starts = range(0, len(texts), load.rows)
            self._targets[key] = self.target([texts[start : start + load.rows] for start in starts])
        return self._targets[key]

    def _processor_time(self) -> dict[str, float]:
        return seconds_by_process(self.server_pid()) | {"client": seconds_of(os.getpid())}
