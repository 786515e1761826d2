"""The sweep: one server for all models, one run of perf_analyzer per concurrency, one report per model."""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from triton_ensembles.archive.manifest import read_manifest
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.perf.analyzer import ClientTimes
from triton_ensembles.measuring.perf.facts import machine, versions
from triton_ensembles.measuring.perf.fused_steps import fused_counters, planned_steps
from triton_ensembles.measuring.perf.inputs import UserInputs, inputs_for
from triton_ensembles.measuring.perf.load_generator import LIMIT_SECONDS, LoadGenerator, in_windows
from triton_ensembles.measuring.perf.steps import Counters, StepTimes, composing_models, read_counters, step_times
from triton_ensembles.measuring.perf.sweep_report import Point, Report, write_report
from triton_ensembles.project.examples.folder import Examples, examples_of
from triton_ensembles.server.clients import http_client
from triton_ensembles.server.triton_server import TritonServer

CONCURRENCIES = (1, 2, 4, 8, 16, 32)
SECONDS = 6.0


@dataclass(frozen=True)
class Load:
    """The requests of clients to each model.

    Attributes:
        concurrencies: numbers of concurrent requests, one point of the sweep each.
        seconds: the duration of a point, which takes about a fifth more. It is lengthened, up to three windows of
            LONGEST_WINDOW, where no request is answered within one window.
        protocol: "grpc" or "http".
        batch: rows in a request.
        user: what to send instead of the example requests.
    """

    concurrencies: Sequence[int] = CONCURRENCIES
    seconds: float = SECONDS
    protocol: str = "grpc"
    batch: int = 1
    user: UserInputs = field(default_factory=UserInputs)


def generator_for(
    server: TritonServer, config: Mapping[str, Any], examples: Examples, load: Load, folder: Path
) -> LoadGenerator:
    """Return perf_analyzer for the model with this configuration, as :func:`inputs_for`."""
    inputs = inputs_for(config, examples, load.batch, folder, load.user)
    return LoadGenerator(server, folder, config["name"], load.protocol, load.batch, inputs)


def measure(
    models: Mapping[str, tuple[Path, Path]],
    load: Load,
    server: TritonServer,
    *,
    output: Path,
    progress: Callable[[str], None],
    failed: dict[str, EnsembleError] | None = None,
) -> list[Report]:
    """Serve models, load one after the other with perf_analyzer, and write NAME.csv, NAME.json and NAME.png.

    Args:
        models: the model repository, and the folder that may have ``examples/`` in it, by the name of the model.
        server: one for the repositories, not started yet.
        output: the folder for the reports. The three files of a model are written when its sweep is complete.
        progress: called with a line for each step of the work.
        failed: takes the error of a model that cannot be measured, while the server still runs, so that the others
            are measured; by default it is raised.

    Raises:
        EnsembleError: perf_analyzer is missing, the server does not start, or a model answers with errors.
    """
    reports = []
    with tempfile.TemporaryDirectory(prefix="perf-") as folder, server, http_client(server) as client:
        for name, (repository, source) in models.items():
            try:
                config = client.get_model_config(name)
                generator = generator_for(server, config, examples_of(source), load, Path(folder))
                report = _sweep(generator, client, repository, load, progress)
            except (EnsembleError, InferenceServerException, OSError) as error:
                fault = _fault(error, name, server)
                if failed is None or not server.alive():
                    raise fault from error
                failed[name] = fault
                progress(f"[{name}] error: {fault}")
                continue
            from triton_ensembles.measuring.perf.plot import draw  # matplotlib takes a second to load

            write_report(report, output, draw)
            reports.append(report)
    return reports


def _fault(error: Exception, name: str, server: TritonServer) -> EnsembleError:
    if not server.alive():
        return EnsembleError(f"tritonserver ended on its own under load of {name}")
    if isinstance(error, EnsembleError):
        return error
    return EnsembleError(f"the server does not answer for {name}: {error}")


def _counters(client: http.InferenceServerClient, models: Sequence[str]) -> dict[str, Counters]:
    return {model: read_counters(client, model) for model in models}


def _sweep(
    generator: LoadGenerator, client: http.InferenceServerClient, repository: Path, load: Load, progress: Progress
) -> Report:
    name, date, facts, manifest = generator.model, datetime.now(UTC), machine(), read_manifest(repository)
    if planned := planned_steps(repository, name):
        count = partial(fused_counters, client, generator.server.metrics_url, name, planned)
    else:
        count = partial(_counters, client, composing_models(client, name))
    concurrencies = sorted(set(load.concurrencies))
    progress(f"[{name}] sending {generator.inputs.about}")
    most = concurrencies[-1]
    first = max(2 * most, generator.inputs.entries)
    generator.warm_up(most, first, LIMIT_SECONDS * math.ceil(first / most))
    points: list[Point] = []
    needed = load.seconds
    for concurrency in concurrencies:
        points.append(_point(generator, client, count, concurrency, needed, progress))
        needed = points[-1].seconds  # the next concurrency is not faster
        progress(f"[{name}] {points[-1].client}")
    return Report(
        name=name,
        target=str(manifest.get("target", "unknown")),
        weights=str(manifest.get("weights", "unknown")),
        date=date.isoformat(timespec="seconds"),
        input=generator.inputs.about,
        protocol=generator.protocol,
        batch=generator.rows,
        seconds=load.seconds,
        machine=facts,
        versions=versions(client),
        points=tuple(points),
    )


def _point(
    generator: LoadGenerator,
    client: http.InferenceServerClient,
    count: Callable[[], dict[str, Counters]],
    concurrency: int,
    seconds: float,
    progress: Progress,
) -> Point:
    name = generator.model

    def measure(seconds: float) -> tuple[ClientTimes, Counters, tuple[StepTimes, ...]]:
        before, steps_before = read_counters(client, name), count()
        times = generator.measure(concurrency, seconds)
        spent = read_counters(client, name) - before
        return times, spent, tuple(step_times(name, step, now - steps_before[step]) for step, now in count().items())

    (times, spent, times_by_step), seconds = in_windows(
        measure, seconds, lambda line: progress(f"[{name}] concurrency {concurrency}: {line}")
    )
    if spent.failures:
        raise EnsembleError(f"{name} answered {spent.failures} of {spent.requests} requests with an error")
    without_queues = all(step.queue_ms is None for step in times_by_step)
    return Point(
        client=times,
        seconds=seconds,
        requests=spent.requests,
        server_ms=spent.average_ms("success"),
        queue_ms=spent.average_ms("queue") if without_queues else None,
        steps=times_by_step,
        command=("perf_analyzer", *generator.arguments(concurrency, seconds)),
    )
