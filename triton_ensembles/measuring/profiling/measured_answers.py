"""The answers of one loaded model under load, by perf_analyzer, and their processor time."""

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from triton_ensembles.endpoint.local_container import LocalContainer
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.perf.analyzer import ClientTimes
from triton_ensembles.measuring.perf.inputs import UserInputs, inputs_for
from triton_ensembles.measuring.perf.load_generator import LoadGenerator, in_windows
from triton_ensembles.measuring.perf.steps import read_counters
from triton_ensembles.measuring.profiling.load import Load
from triton_ensembles.measuring.profiling.profile import RESTED_PER_SECOND, Answers
from triton_ensembles.project.examples.folder import Examples
from triton_ensembles.server.clients import http_client

_FEW = 16  # requests that a copy is warmed up with: what a model of many gets in its first minutes
_RESTED_TIMES = 6  # as long as other measurements, since there are few of these requests
_PROTOCOL = "http"  # as the SageMaker front end: the same HTTP server, and the same tensors in binary


class RequestSender:
    """Sends requests to models of ``host`` that all have the same inputs.

    Args:
        folder: for the files of perf_analyzer.
    """

    def __init__(self, host: LocalContainer, examples: Examples, user: UserInputs, folder: Path) -> None:
        self._host, self._examples, self._user = host, examples, user
        self._folder = Path(tempfile.mkdtemp(dir=folder))

    def once(self, target_model: str) -> float:
        """Send one request of one row, alone; the seconds that Triton counts. Raises as ``warm_up`` does."""
        with http_client(self._host.server) as client:
            before = read_counters(client, target_model)
            self.warm_up(target_model, 1)
            return (read_counters(client, target_model) - before).average_ms("success") / 1000

    def largest(self, target_model: str) -> int:
        """Send it requests of as many rows as it takes, if that is more than one, with all examples among them; returns
        how many. Raises as ``warm_up`` does."""
        rows = self._most(target_model)
        if rows > 1:
            generator = self._generator(target_model, rows)
            generator.warm_up(1, 1 + math.ceil(generator.inputs.entries / rows))
        return rows

    def warm_up(self, target_model: str, most: int = _FEW) -> None:
        """Send it its first requests, one row each. Raises :class:`EnsembleError` when it answers with an error."""
        generator = self._generator(target_model, 1)
        try:
            generator.warm_up(1, min(most, max(2, generator.inputs.entries)))
        except EnsembleError as error:
            cure = error.cure or f"send what it answers, with --input-data FILE: these were {generator.inputs.about}"
            raise EnsembleError(error.message, cure=cure) from error

    def measure(self, target_model: str, load: Load, progress: Progress) -> tuple[Answers, ...]:
        """By batch, then by concurrency.
        Raises :class:`EnsembleError`: it answers with an error, or takes none of the batches."""
        most_rows = self._most(target_model)
        batches = sorted({batch for batch in load.batches if batch <= most_rows})
        if not batches:
            cure = f"use --batch {most_rows}"
            raise EnsembleError(f"the model takes at most {most_rows} rows in a request", cure=cure)
        points = []
        for batch in batches:
            generator = self._generator(target_model, batch)
            progress(f"sending {generator.inputs.about}" + (f", {batch} at a time" if batch > 1 else ""))
            most = max(load.concurrencies)
            generator.warm_up(most, max(2 * most, generator.inputs.entries))
            seconds = load.seconds
            for concurrency in sorted(set(load.concurrencies)):
                send = partial(generator.measure, concurrency)
                answers, seconds = in_windows(partial(self._point, generator, send), seconds, progress)
                points.append(answers)
                rows, rate = f"{batch} row{'s' if batch > 1 else ''}", f"{answers.requests_per_second:.1f} requests/s"
                progress(f"{concurrency} under way, {rows} each: {rate}, {_summary(answers)}")
        return tuple(points)

    def rested(
        self, target_model: str, answers: Sequence[Answers], load: Load, progress: Progress, least_seconds: float = 0
    ) -> Answers:
        """Requests that come seldom. ``answers`` is what :meth:`measure` has found. Raises as that does."""
        often = min(answers, key=lambda point: (point.batch, point.concurrency))
        rate = min(RESTED_PER_SECOND, often.requests_per_second / 2)
        generator = self._generator(target_model, often.batch)

        def send(seconds: float) -> ClientTimes:
            times = generator.measure_at(rate, seconds)
            return replace(times, concurrency=1, throughput=generator.rows * 1000 / times.avg_ms)

        seconds = max(_RESTED_TIMES * load.seconds, least_seconds)
        point, _ = in_windows(partial(self._point, generator, send), seconds, progress)
        progress(f"{rate:.1f} requests/s: {_summary(point)}")
        return point

    def _generator(self, target_model: str, batch: int) -> LoadGenerator:
        with http_client(self._host.server) as client:
            config = client.get_model_config(target_model)
        inputs = inputs_for({**config, "name": f"input-{batch}"}, self._examples, batch, self._folder, self._user)
        return LoadGenerator(self._host.server, self._folder, target_model, _PROTOCOL, batch, inputs)

    def _most(self, target_model: str) -> int:
        """Return how many rows of a request it takes."""
        with http_client(self._host.server) as client:
            return max(1, int(client.get_model_config(target_model).get("max_batch_size", 0)))

    def _point(self, generator: LoadGenerator, send: Callable[[float], ClientTimes], seconds: float) -> Answers:
        with http_client(self._host.server) as client:
            before, processor = read_counters(client, generator.model), self._host.processor_seconds()
            times = send(seconds)
            used = self._host.processor_seconds() - processor
            spent = read_counters(client, generator.model) - before
        if spent.failures:
            raise EnsembleError(f"{spent.failures} of {spent.requests} requests were answered with an error")
        return Answers(
            concurrency=times.concurrency,
            batch=generator.rows,
            requests_per_second=times.throughput / generator.rows,
            p50_seconds=times.p50_ms / 1000,
            p95_seconds=times.p95_ms / 1000,
            p99_seconds=times.p99_ms / 1000,
            core_seconds=used / max(1, spent.requests),
        )


def _summary(answers: Answers) -> str:
    p50, p99, cores = (1000 * value for value in (answers.p50_seconds, answers.p99_seconds, answers.core_seconds))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, {cores:.1f} core-ms a request"
