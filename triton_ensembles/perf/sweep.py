"""The sweep: one server with the ensembles, one run of perf_analyzer for each concurrency, one report an ensemble."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from triton_ensembles.errors import EnsembleError
from triton_ensembles.perf.facts import machine, versions, weights_of
from triton_ensembles.perf.files import write_report
from triton_ensembles.perf.inputs import UserInputs, inputs_for
from triton_ensembles.perf.load_generator import LIMIT_SECONDS, LoadGenerator
from triton_ensembles.perf.report import Point, Report
from triton_ensembles.perf.steps import Counters, composing_models, read_counters, step_times
from triton_ensembles.triton.home import TritonHome, find_home
from triton_ensembles.triton.server import TritonServer

CONCURRENCIES = (1, 2, 4, 8, 16, 32)
SECONDS = 6.0


class Served(Protocol):
    """What :class:`triton_ensembles.building.build.Built` is: an ensemble and the model repository that holds it."""

    @property
    def name(self) -> str: ...
    @property
    def repository(self) -> Path: ...


@dataclass(frozen=True)
class _Load:
    """What stays the same at every concurrency."""

    home: TritonHome
    server: TritonServer
    client: http.InferenceServerClient
    folder: Path
    protocol: str
    batch: int
    seconds: float


def measure(
    built: Sequence[Served],
    *,
    concurrencies: Sequence[int] = CONCURRENCIES,
    output: Path,
    seconds: float = SECONDS,
    protocol: str = "grpc",
    batch: int = 1,
    user: UserInputs | None = None,
    progress: Callable[[str], None],
    log: Path | None = None,
    home: TritonHome | None = None,
) -> list[Report]:
    """Serve the ensembles, load one after the other with perf_analyzer, and write NAME.csv, NAME.json and NAME.png.

    Args:
        concurrencies: requests under way at any moment, one point of the sweep each.
        output: the folder for the reports. An ensemble's three files are written once its sweep is complete.
        seconds: how long a point is measured; it takes about a fifth more.
        protocol: "grpc" or "http".
        batch: rows in a request.
        user: what to send instead of the project's own sentences and photographs.
        log: where tritonserver's log goes; None: into a temporary folder.

    Raises:
        EnsembleError: perf_analyzer is missing, the server does not start, or an ensemble answers with errors.
    """
    home = home or find_home()
    reports = []
    with (
        tempfile.TemporaryDirectory(prefix="perf-") as folder,
        TritonServer(
            [each.repository for each in built],
            log=log,
            home=home,
            progress=lambda waited: progress(f"loading, {waited:.0f} s"),
        ) as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        load = _Load(home, server, client, Path(folder), protocol, batch, seconds)
        for each in built:
            try:
                report = _sweep(each, load, sorted(set(concurrencies)), user or UserInputs(), progress)
            except (EnsembleError, InferenceServerException, OSError) as error:
                if not server.alive():
                    raise EnsembleError(f"tritonserver ended by itself under load of {each.name}", path=log) from error
                if isinstance(error, EnsembleError):
                    raise
                raise EnsembleError(f"the server does not answer for {each.name}: {error}", path=log) from error
            write_report(report, output)
            reports.append(report)
    return reports


def _sweep(
    each: Served, load: _Load, concurrencies: Sequence[int], user: UserInputs, progress: Callable[[str], None]
) -> Report:
    date = datetime.now(UTC)
    facts = machine()
    inputs = inputs_for(load.client.get_model_config(each.name), load.batch, load.folder, user)
    models = composing_models(load.client, each.name)
    progress(f"[{each.name}] sending {inputs.about}")
    generator = LoadGenerator(
        load.home, load.server, load.folder, each.name, load.protocol, load.batch, inputs.arguments
    )
    requests = max(2 * concurrencies[-1], inputs.entries)
    generator.warm_up(concurrencies[-1], requests, LIMIT_SECONDS + load.seconds)
    points = []
    for concurrency in concurrencies:
        points.append(_point(generator, load.client, models, concurrency, load.seconds))
        progress(f"[{each.name}] {points[-1].summary()}")
    return Report(
        name=each.name,
        weights=weights_of(each.repository),
        date=date.isoformat(timespec="seconds"),
        input=inputs.about,
        protocol=load.protocol,
        batch=load.batch,
        seconds=load.seconds,
        machine=facts,
        versions=versions(load.client),
        points=tuple(points),
    )


def _point(
    load: LoadGenerator, client: http.InferenceServerClient, models: Sequence[str], at: int, seconds: float
) -> Point:
    name = load.model
    before = _counters(client, (name, *models))
    times = load.measure(at, seconds)
    spent = {model: after - before[model] for model, after in _counters(client, (name, *models)).items()}
    if spent[name].failures:
        raise EnsembleError(f"{name} answered {spent[name].failures} of {spent[name].requests} requests with an error")
    return Point(
        client=times,
        requests=spent[name].requests,
        server_ms=spent[name].average_ms("success"),
        steps=tuple(step_times(name, model, spent[model]) for model in models),
        command=("perf_analyzer", *load.arguments(at, seconds)),
    )


def _counters(client: http.InferenceServerClient, models: Sequence[str]) -> dict[str, Counters]:
    return {model: read_counters(client, model) for model in models}
