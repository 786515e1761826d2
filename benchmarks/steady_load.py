"""The steady part of a load by perf_analyzer: the server's own counters, read ten times a second.

perf_analyzer's throughput counts its first moments, in which nothing has been answered yet, as time; here they are left
out. Latencies are perf_analyzer's (of its whole run).
"""

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import tritonclient.http as http

from benchmarks.cells import Cell, rate
from benchmarks.process_usage import cores, seconds_by_process, seconds_of
from triton_ensembles.errors import EnsembleError
from triton_ensembles.perf.analyzer import ClientTimes
from triton_ensembles.perf.load_generator import LoadGenerator
from triton_ensembles.perf.steps import read_counters
from triton_ensembles.processes import command_line, descendants

POLL_SECONDS = 0.1
SLACK_SECONDS = 0.5  # until the first answer is seen, and between the last reading and perf_analyzer's end
LEAST_CHANGES = 3


@dataclass(frozen=True)
class Reading:
    """Rows answered so far and processor time by process, at a time (seconds of the monotonic clock)."""

    time: float
    rows: int
    processor: Mapping[str, float]


@dataclass(frozen=True)
class SteadyState:
    """First and last reading, and (time, rows answered so far) at every change in between."""

    first: Reading
    last: Reading
    times: Sequence[float]
    rows: Sequence[int]


def measure(generator: LoadGenerator, concurrency: int, seconds: float, warm_up: float) -> Cell:
    """Keep the generator's model under load and measure ``seconds`` of it, ``warm_up`` seconds after its first answer.

    Raises:
        EnsembleError: an error was answered, or nothing within a window of perf_analyzer (a third of the time).
    """
    name = generator.model
    with http.InferenceServerClient(generator.server.http_url) as client, ThreadPoolExecutor(1) as pool:
        before = read_counters(client, name)
        running = pool.submit(generator.measure, concurrency, warm_up + seconds + SLACK_SECONDS)
        try:
            steady = _watch(client, generator.server.pid, name, running, seconds, warm_up)
        finally:
            running.exception()  # waits for its end
        failures = (read_counters(client, name) - before).failures
    if failures:
        raise EnsembleError(f"{name} answered {failures} requests with an error")
    times, first, last = running.result(), steady.first, steady.last
    return Cell(
        throughput=rate(steady.times, steady.rows),
        latency_ms={"p50": times.p50_ms, "p90": times.p90_ms, "p95": times.p95_ms, "p99": times.p99_ms},
        cpu=cores(first.processor, last.processor, last.time - first.time),
    )


def _watch(
    client: http.InferenceServerClient,
    pid: int,
    model: str,
    running: Future[ClientTimes],
    seconds: float,
    warm_up: float,
) -> SteadyState:
    def answered() -> int:
        return read_counters(client, model).rows

    def reading() -> Reading:
        processor = seconds_by_process(pid) | {"client": _processor_time_of_analyzer()}
        return Reading(time.monotonic(), answered(), processor)

    idle = answered()
    while not running.done() and answered() == idle:
        time.sleep(POLL_SECONDS / 5)
    time.sleep(warm_up)
    first = reading()
    times: list[float] = []
    rows = [first.rows]
    while not running.done() and time.monotonic() - first.time < seconds:
        time.sleep(POLL_SECONDS)
        if (now := answered()) != rows[-1]:
            rows.append(now)
            times.append(time.monotonic())
    last = reading()
    if running.done():
        running.result()  # raises what went wrong
    if len(times) < LEAST_CHANGES:
        raise EnsembleError(f"{model} answers too slowly to be measured in {seconds:.1f} s")
    return SteadyState(first, last, times, rows[1:])


def _processor_time_of_analyzer() -> float:
    commands = {pid: command_line(pid).partition(" ")[0] for pid in descendants(os.getpid())}
    return sum(seconds_of(pid) for pid, command in commands.items() if command.endswith("/perf_analyzer"))
