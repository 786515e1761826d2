"""perf_analyzer as the load, and the server's own counters, read ten times a second, as the measurement.

perf_analyzer's throughput counts its first moments, in which nothing has been answered yet, as time; here they are left
out. Latencies are perf_analyzer's (of its whole run).
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tritonclient.http as http

from benchmarks.cells import Cell, rate
from benchmarks.loads import IMAGES, Load, images_of, texts_of
from benchmarks.processor_time import by_process, cores, seconds_of
from triton_ensembles.errors import EnsembleError
from triton_ensembles.perf.analyzer import read_csv, run_analyzer
from triton_ensembles.perf.steps import Counters, composing_models, read_counters, step_times
from triton_ensembles.processes import command_line, descendants
from triton_ensembles.triton.home import find_home
from triton_ensembles.triton.server import TritonServer

WINDOWS = 3  # the least that perf_analyzer takes
POLL_SECONDS = 0.1
SLACK_SECONDS = 0.5  # until the first answer is seen, and between the last reading and perf_analyzer's end
LEAST_CHANGES = 3
LIMIT_SECONDS = 120.0


@dataclass(frozen=True)
class Moment:
    """What the counters were at a time (seconds of the monotonic clock)."""

    time: float
    counters: Mapping[str, Counters]
    processor: Mapping[str, float]


@dataclass(frozen=True)
class Watched:
    """The steady part of a load: its first and last moment, and (time, rows answered so far) at every change."""

    first: Moment
    last: Moment
    times: Sequence[float]
    rows: Sequence[int]


class AnalyzerLoad:
    """Puts the model ``name`` of a running server under loads.

    Args:
        protocol: "grpc" or "http" (with binary tensors).
        folder: for the files that perf_analyzer reads and writes.
        texts_from: the built repository whose tokenizer counts the texts.
    """

    def __init__(self, server: TritonServer, name: str, protocol: str, folder: Path, texts_from: Path) -> None:
        self._server, self._name, self._protocol = server, name, protocol
        self._folder, self._texts_from = folder, texts_from
        self._client = http.InferenceServerClient(server.http_url)
        self._steps = composing_models(self._client, name)

    def close(self) -> None:
        self._client.close()

    def warm_up(self, load: Load) -> None:
        requests = max(2 * load.concurrency, 8 if load.content == IMAGES else 64 // load.rows)
        # Over HTTP perf_analyzer does not always end with --request-count (see triton_ensembles/perf/sweep.py).
        self._analyze(load, "grpc", ["--request-count", str(requests)])

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        """See :class:`benchmarks.contenders.contender.Contender`.

        Raises:
            EnsembleError: an error was answered, or nothing within a window of perf_analyzer (a third of the time).
        """
        begins = self._read()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self._analyze, load, self._protocol, _windows(warm_up + seconds + SLACK_SECONDS))
            try:
                watched = self._watch(running, seconds, warm_up)
            finally:
                running.exception()  # wait
        times = read_csv(self._folder / "out.csv")
        spent = {name: after - begins.counters[name] for name, after in self._read().counters.items()}
        if spent[self._name].failures:
            raise EnsembleError(f"{self._name} answered {spent[self._name].failures} requests with an error")
        first, last = watched.first, watched.last
        steady = {name: after - first.counters[name] for name, after in last.counters.items()}
        steps = [step_times(self._name, name, steady[name]) for name in self._steps]
        return Cell(
            throughput=rate(watched.times, watched.rows),
            latency_ms={"p50": times.p50_ms, "p90": times.p90_ms, "p95": times.p95_ms, "p99": times.p99_ms},
            cpu=cores(first.processor, last.processor, last.time - first.time),
            steps_ms={each.step: {"queue": each.queue_ms, "compute": each.compute_ms} for each in steps}
            | {"request": {"server": steady[self._name].average_ms("success"), "client": times.avg_ms}},
            batches={each.step: each.batch for each in steps},
        )

    def _analyze(self, load: Load, protocol: str, how_long: Sequence[str]) -> None:
        url = self._server.grpc_url if protocol == "grpc" else self._server.http_url
        arguments = [
            *("-m", self._name, "-i", protocol, "-u", url, "-b", str(load.rows)),
            *("--input-data", os.fspath(self._input(load)), "--concurrency-range", str(load.concurrency)),
            *(*how_long, "--verbose-csv", "-f", "out.csv"),
        ]
        (self._folder / "out.csv").unlink(missing_ok=True)
        run_analyzer(find_home(), arguments, self._folder, LIMIT_SECONDS)

    def _watch(self, running: Future[None], seconds: float, warm_up: float) -> Watched:
        """Readings from ``warm_up`` seconds after the first answer on, for ``seconds``."""
        idle = self._rows()
        while not running.done() and self._rows() == idle:
            time.sleep(POLL_SECONDS / 5)
        time.sleep(warm_up)
        first = self._read()
        times: list[float] = []
        rows = [first.counters[self._name].rows]
        while not running.done() and time.monotonic() - first.time < seconds:
            time.sleep(POLL_SECONDS)
            if (now := self._rows()) != rows[-1]:
                rows.append(now)
                times.append(time.monotonic())
        last = self._read()
        if running.done():
            running.result()  # raises what went wrong
        if len(times) < LEAST_CHANGES:
            raise EnsembleError(f"{self._name} answers too slowly to be measured in {seconds:.1f} s")
        return Watched(first, last, times, rows[1:])

    def _rows(self) -> int:
        return read_counters(self._client, self._name).rows

    def _read(self) -> Moment:
        counters = {name: read_counters(self._client, name) for name in (self._name, *self._steps)}
        processor = by_process(self._server.pid) | {"client": _processor_time_of_analyzer()}
        return Moment(time.monotonic(), counters, processor)

    def _input(self, load: Load) -> Path:
        path = self._folder / f"{load.content}-{load.rows}.json"
        if not path.exists():
            path.write_text(json.dumps({"data": _entries(load, self._texts_from)}), encoding="utf-8")
        return path.resolve()


def _windows(seconds: float) -> list[str]:
    """perf_analyzer adds a fifth to each window. Stability is not asked for: the reader judges by the spread."""
    window = round(seconds * 1000 / WINDOWS)
    return ["--measurement-mode", "time_windows", "-p", str(window), "-r", str(WINDOWS), "-s", "1000"]


def _entries(load: Load, texts_from: Path) -> Sequence[Mapping[str, Any]]:
    """One entry a row: perf_analyzer puts as many of them after each other into a request as it has rows, if all have
    one shape. Images have not, so that it is given one."""
    if load.content == IMAGES:
        return [
            {"INPUT": {"b64": base64.b64encode(image).decode("ascii"), "shape": [len(image)]}}
            for image in images_of(load)
        ]
    return [{"INPUT0": {"content": [text], "shape": [1]}} for text in texts_of(load, texts_from)]


def _processor_time_of_analyzer() -> float:
    commands = {pid: command_line(pid).partition(" ")[0] for pid in descendants(os.getpid())}
    return sum(seconds_of(pid) for pid, command in commands.items() if command.endswith("/perf_analyzer"))
