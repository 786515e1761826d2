"""The limit, in its own processes: one with a thread for each core, one with one thread, or such a one for each core.

The engine alone, which the floor is made of, is measured in the same way.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell
from benchmarks.limit_process import Request, serve
from benchmarks.loads import Load
from benchmarks.process_usage import Usage
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.hosting.cpu import processor_seconds


class Limit:
    """Engine and model file of the built ``repository`` without a server.

    Args:
        loads: of concurrency 0.
        threads: of each process.
        processes: side by side, each on a core of its own if there are several.
        engine_only: without tokenizer and pooling; for texts.
    """

    def __init__(
        self, name: str, repository: Path, loads: Sequence[Load], *, threads: int, processes: int, engine_only: bool
    ) -> None:
        self.name, self.loads, self.about = name, loads, ""
        self._arguments = (repository.resolve(), threads)
        self._cores = sorted(os.sched_getaffinity(0))[:processes] if processes > 1 else [None]
        self._engine_only = engine_only
        self._running: list[tuple[multiprocessing.process.BaseProcess, Connection]] = []

    def __enter__(self) -> Limit:
        context = multiprocessing.get_context("spawn")
        for core in self._cores:
            ours, theirs = context.Pipe()
            arguments = (theirs, *self._arguments, core, self._engine_only)
            process = context.Process(target=serve, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._running.append((process, ours))
        engines = [self._receive(connection) for _, connection in self._running]
        self.about = f"{len(engines)} {'process' if len(engines) == 1 else 'processes'}: {engines[0]}"
        return self

    def __exit__(self, *_: object) -> None:
        for process, connection in self._running:
            connection.close()  # which ends it
            process.terminate()
            process.join()

    def warm_up(self, load: Load) -> None:
        self._run(load, 1)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        self._run(load, warm_up)
        began, before = time.monotonic(), self._processor_time()
        cells = self._run(load, seconds)
        usage = self._processor_time().cores(before, time.monotonic() - began)
        return Cell(sum(cell.throughput for cell in cells), cells[0].p50_ms, *usage)

    def _run(self, load: Load, seconds: float) -> list[Cell]:
        for number, (_, connection) in enumerate(self._running):
            connection.send(Request(load, number, len(self._running), seconds))
        return [self._receive(connection) for _, connection in self._running]

    def _receive(self, connection: Connection) -> Any:
        try:
            return connection.recv()
        except EOFError as error:
            raise EnsembleError(f"the process of {self.name} has ended; its error stands above") from error

    def _processor_time(self) -> Usage:
        return Usage(0.0, sum(processor_seconds(process.pid or 0) for process, _ in self._running))
