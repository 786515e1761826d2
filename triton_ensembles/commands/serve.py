"""``serve``"""

import time
from pathlib import Path

import click

from triton_ensembles.commands import options, output
from triton_ensembles.commands.builds import build_all, server_of
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.processes import StopSignals
from triton_ensembles.triton.ports import Ports
from triton_ensembles.triton.server import TritonServer
from triton_ensembles.triton.server_process import ServerProcess

_PORT = click.IntRange(1, 65535)


@click.command()
@options.building
@options.for_target
@output.quiet
@click.option("--http-port", type=_PORT, default=8000, help="KServe v2 over HTTP.")
@click.option("--grpc-port", type=_PORT, default=8001, help="KServe v2 over gRPC.")
@click.option("--metrics-port", type=_PORT, default=8002, help="Prometheus metrics.")
def serve(
    names: tuple[str, ...],
    weights: str,
    weights_dir: Path | None,
    target: str,
    image: str,
    instance: str,
    http_port: int,
    grpc_port: int,
    metrics_port: int,
) -> None:
    """Build, then serve with the real tritonserver until Ctrl-C, on the loopback interface.

    \b
      serve bert_trt                                as drawn: each step is a model of its own
      serve bert_trt --target fused                 the same tensors from one model
      serve bert_trt --target fused --image 24.09   the archive for that image, under its Python
    """
    served = options.target_served_here(target, image, instance)
    ports = Ports(http=http_port, grpc=grpc_port, metrics=metrics_port)
    ports.refuse_busy(TritonServer.port_names)  # before the build, which may take long
    built = build_all(names, weights, weights_dir, served)
    with StopSignals() as signals, server_of(built, ports) as server:
        signals.defer()
        click.echo(f"ready: {', '.join(each.name for each in built)}")
        click.echo(f"  HTTP     http://{server.http_url}/v2")
        click.echo(f"  gRPC     {server.grpc_url}")
        click.echo(f"  metrics  http://{server.metrics_url}/metrics")
        click.echo(f"  log      {shown(server.log)}")
        click.echo("Ctrl-C stops it")
        wait(signals, server)
    click.echo("stopped")


def wait(signals: StopSignals, server: ServerProcess) -> None:
    """Wait for a signal. Raises :class:`EnsembleError` if the server ends before."""
    while not signals.received:
        if not server.alive():
            raise EnsembleError("tritonserver ended by itself", path=server.log)
        time.sleep(0.2)
    click.echo("\nstopping")
