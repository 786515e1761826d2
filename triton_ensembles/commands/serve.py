"""``serve``. What builds and serves is imported when it runs: no Tab needs it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from triton_ensembles.building.places import Places, Weights
from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.arguments import argument, chosen
from triton_ensembles.ground.errors import EnsembleError, escaped, shown
from triton_ensembles.ground.processes import StopSignals
from triton_ensembles.server.home import Installation
from triton_ensembles.server.ports import Ports

if TYPE_CHECKING:
    from triton_ensembles.server.triton_server import TritonServer
    from triton_ensembles.serving.served import Served
    from triton_ensembles.serving.watching.watch import Watch, Watched
    from triton_ensembles.triton.targets import Target


@click.command()
@argument
@options.with_weights
@options.for_target
@options.server
@output.quiet
@click.option(
    "--watch",
    is_flag=True,
    help="Load again what changes: models whose files are edited, new ones and, of an ensemble, what depends on them. "
    "A version that does not load is reported with Triton's reason, and the one before continues to serve.",
)
@options.collected(
    Ports,
    "ports",
    options.port("http-port", Ports.http, "KServe v2 over HTTP.", "http"),
    options.port("grpc-port", Ports.grpc, "KServe v2 over gRPC.", "grpc"),
    options.port("metrics-port", Ports.metrics, "Prometheus metrics.", "metrics"),
)
def serve(
    names: tuple[str, ...],
    weights: Weights,
    chosen_target: options.BuildTarget,
    server: Installation | None,
    *,
    watch: bool,
    ports: Ports,
) -> None:
    """Serve with the real tritonserver until Ctrl-C, on the loopback interface.

    An ENSEMBLE of the project is built first; without any argument, all are. A PATH is served as it is: a model
    repository, one model's folder, or an ensemble's folder with its steps beside it. So is an ARCHIVE (.tar.gz),
    unpacked as SageMaker unpacks it. What check finds errors in is refused with them. An argument with a slash is a
    path; without one, an ensemble of that name comes first. Several are served by one server, so that no two may have
    a model of the same name. Over HTTP it infers and describes models, and refuses to load, share memory, trace or log
    differently, because web pages can send it requests: docs/security.md.

    \b
      serve bert_trt                                as drawn: each step is a model of its own
      serve bert_trt --target fused                 the same tensors from one model
      serve bert_trt --target fused --image 24.09   the archive for that image, under its Python
      serve path/to/models                          any model repository, without a recipe
      serve model.tar.gz other.tar.gz               what would be uploaded to S3
      serve path/to/models --watch                  edit a model.py, and the running server loads it
    """
    from triton_ensembles.commands.common.builds import serve_all, server_for
    from triton_ensembles.server.triton_server import TritonServer
    from triton_ensembles.serving.watching.source import watched_source
    from triton_ensembles.serving.watching.watch import EXPLICIT_MODE, Watch, Watched

    selected = chosen(names)
    served_here = chosen_target.served_here(server)
    ports.refuse_busy(TritonServer.port_names)  # before the build, which may take long
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="serve-"))
        signals = stack.enter_context(StopSignals())
        all_served = serve_all(selected, weights, served_here, Path(scratch), server)
        sources: list[Watched] = []
        if watch:
            stage = partial(_stage, served_here, weights)
            watched = [
                stack.enter_context(watched_source(served_source, partial(stage, served_source.path)))
                for served_source in all_served
            ]
            all_served, sources = [each for each, _ in watched], [Watched(source) for _, source in watched]
        while not signals.received:
            with server_for(all_served, ports, EXPLICIT_MODE if watch else ()) as running:
                signals.defer()
                _announce(all_served, running)
                if not watch:
                    _wait(signals, running)
                    continue
                click.echo(f"watching {', '.join(shown(served_source.path) for served_source in all_served)}")
                with Watch(sources, running, _say) as loop:
                    _wait(signals, running, loop)
    click.echo("stopped")


def _stage(target: Target, weights: Weights, folder: Path, destination: Path) -> None:
    """Stage the ensemble in ``folder`` again."""
    from triton_ensembles.building.build import stage_written
    from triton_ensembles.building.request import BuildRequest

    request = BuildRequest(folder, target, Places.of(folder.resolve().parents[1]), weights)
    stage_written(request, destination, lambda _: None)


def _say(line: str) -> None:
    click.echo(escaped(f"{time.strftime('%H:%M:%S')} {line}"))


def _announce(all_served: Sequence[Served], server: TritonServer) -> None:
    click.echo(f"ready: {', '.join(model for source in all_served for model in source.tops)}")
    click.echo(f"  HTTP     http://{server.http_url}/v2")
    click.echo(f"  gRPC     {server.grpc_url}")
    click.echo(f"  metrics  http://{server.metrics_url}/metrics")
    click.echo(f"  log      {shown(server.log)}")
    click.echo("Ctrl-C stops it")


def _wait(signals: StopSignals, server: TritonServer, watch: Watch | None = None) -> None:
    """Wait for a signal, or for a change that only another server can load. Raises :class:`EnsembleError` if the server
    ends before."""
    while not signals.received:
        if not server.alive():
            raise EnsembleError("tritonserver ended on its own", path=server.log)
        if watch and watch.failure:
            raise watch.failure
        if watch and watch.needs_server:
            _say(f"tritonserver is started again: {watch.needs_server}")
            return
        time.sleep(0.2)
    click.echo("\nstopping")
