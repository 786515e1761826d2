"""A model in the real tritonserver, with perf_analyzer as the client, over gRPC."""

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
from benchmarks.loads import IMAGES, Load, images_of, short_texts
from benchmarks.process_usage import Usage, seconds_of_all
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import command_line, descendants
from triton_ensembles.hosting.cpu import processor_seconds
from triton_ensembles.measuring.perf.analyzer import ClientTimes
from triton_ensembles.measuring.perf.inputs import Inputs
from triton_ensembles.measuring.perf.load_generator import LoadGenerator
from triton_ensembles.measuring.perf.steps import read_counters
from triton_ensembles.server.triton_server import TritonServer

_POLL_SECONDS = 0.1
_SLACK_SECONDS = 0.5  # until the first answer is seen, and between the last reading and perf_analyzer's end
_LEAST_CHANGES = 3


@dataclass
class Served:
    """A model with the inputs of bert_trt or dali_inception in a running server.

    Attributes:
        model: its name in the server.
        folder: for the inputs, which all contenders share, and perf_analyzer's output.
        texts_from: the repository whose tokenizer counts the texts, so that all contenders are sent the same.
    """

    name: str
    about: str
    loads: Sequence[Load]
    server: TritonServer
    model: str
    folder: Path
    texts_from: Path

    def warm_up(self, load: Load) -> None:
        requests = max(2 * load.concurrency, 8 if load.content == IMAGES else 64 // load.rows)
        self._generator(load).warm_up(load.concurrency, requests)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        """Measure the steady part of perf_analyzer's load by the server's own counters, read ten times a second.

        perf_analyzer's throughput counts its first moments, in which nothing has been answered yet, as time; here they
        are left out. Latencies are perf_analyzer's (of its whole run).

        Raises:
            EnsembleError: an error was answered, or nothing within a window of perf_analyzer (a third of the time).
        """
        generator = self._generator(load)
        with http.InferenceServerClient(self.server.http_url) as client, ThreadPoolExecutor(1) as pool:
            before = read_counters(client, self.model)
            running = pool.submit(generator.measure, load.concurrency, warm_up + seconds + _SLACK_SECONDS)
            try:
                throughput, usage = self._watch(client, running, before.rows, seconds, warm_up)
            finally:
                running.exception()  # waits for its end
            failures = (read_counters(client, self.model) - before).failures
        if failures:
            raise EnsembleError(f"{self.model} answered {failures} requests with an error")
        return Cell(throughput, running.result().p50_ms, *usage)

    def _watch(
        self,
        client: http.InferenceServerClient,
        running: Future[ClientTimes],
        idle: int,
        seconds: float,
        warm_up: float,
    ) -> tuple[float, Usage]:
        """Rows per second, and cores, from ``warm_up`` seconds after the first answer beyond ``idle``."""
        while not running.done() and read_counters(client, self.model).rows == idle:
            time.sleep(_POLL_SECONDS / 5)
        time.sleep(warm_up)
        began, before = time.monotonic(), self._processor_time()
        times: list[float] = []
        rows = [read_counters(client, self.model).rows]
        while not running.done() and time.monotonic() - began < seconds:
            time.sleep(_POLL_SECONDS)
            if (answered := read_counters(client, self.model).rows) != rows[-1]:
                rows.append(answered)
                times.append(time.monotonic())
        usage = self._processor_time().cores(before, time.monotonic() - began)
        if running.done():
            running.result()  # raises what went wrong
        if len(times) < _LEAST_CHANGES:
            raise EnsembleError(f"{self.model} answers too slowly to be measured in {seconds:.1f} s")
        return rate(times, rows[1:]), usage

    def _processor_time(self) -> Usage:
        commands = {pid: command_line(pid).partition(" ")[0] for pid in descendants(os.getpid())}
        client = sum(processor_seconds(pid) for pid, command in commands.items() if command.endswith("/perf_analyzer"))
        return Usage(client, seconds_of_all(self.server.pid))

    def _generator(self, load: Load) -> LoadGenerator:
        path = self.folder / f"{load.content}-{load.rows}.json"
        if not path.exists():
            path.write_text(json.dumps({"data": self._entries(load)}), encoding="utf-8")
        inputs = Inputs(("--input-data", str(path.resolve())), 1, "")
        return LoadGenerator(self.server, self.folder, self.model, "grpc", load.rows, inputs)

    def _entries(self, load: Load) -> Sequence[Mapping[str, Any]]:
        """Make an entry for each row. perf_analyzer puts as many consecutive ones into a request as it has rows, if all
        have one shape. Images have no shape of their own, so they are given one."""
        if load.content != IMAGES:
            return [{"INPUT0": {"content": [text], "shape": [1]}} for text in short_texts(self.texts_from)]
        encoded = ((base64.b64encode(image).decode("ascii"), len(image)) for image in images_of(load))
        return [{"INPUT": {"b64": image, "shape": [size]}} for image, size in encoded]
