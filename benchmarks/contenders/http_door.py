"""A server that is asked over plain HTTP by the light client of :mod:`benchmarks.http_load`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cells import Cell, percentiles, rate
from benchmarks.http_load import Answers, Door, put_under_load
from benchmarks.loads import Load, texts_of
from benchmarks.processor_time import by_process, cores, seconds_of
from triton_ensembles.errors import EnsembleError


class HttpDoor:
    """Measures; what starts and stops the server is for the subclasses.

    Args:
        texts_from: the built repository whose tokenizer counts the texts.
    """

    def __init__(self, name: str, loads: Sequence[Load], texts_from: Path) -> None:
        self.name = name
        self._loads = list(loads)
        self._texts_from = texts_from
        self._doors: dict[tuple[str, int], Door] = {}

    def loads(self) -> Sequence[Load]:
        return self._loads

    def warm_up(self, load: Load) -> None:
        put_under_load(self._door(load), load.concurrency, 1, 0)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        door = self._door(load)
        before = self._processor_time()
        answers = put_under_load(door, load.concurrency, seconds, warm_up)
        spent = cores(before, self._processor_time(), seconds + warm_up)
        return Cell(_throughput(answers, load), percentiles(answers.latencies), spent)

    def server_pid(self) -> int:
        raise NotImplementedError

    def door(self, requests: Sequence[Sequence[str]]) -> Door:
        """Where these requests go; each is its texts."""
        raise NotImplementedError

    def _door(self, load: Load) -> Door:
        key = (load.content, load.rows)
        if key not in self._doors:
            texts = texts_of(load, self._texts_from)
            starts = range(0, len(texts), load.rows)
            self._doors[key] = self.door([texts[start : start + load.rows] for start in starts])
        return self._doors[key]

    def _processor_time(self) -> dict[str, float]:
        return by_process(self.server_pid()) | {"client": seconds_of(os.getpid())}


def _throughput(answers: Answers, load: Load) -> float:
    try:
        return rate(answers.finished, [load.rows * number for number in range(len(answers.finished))])
    except ValueError as error:
        raise EnsembleError(str(error)) from error
