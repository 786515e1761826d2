"""``gateway``: several models of one container, by name and version."""

from pathlib import Path

import click

from triton_ensembles.archive.manifest import GATEWAY_TABLE, python_of
from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.packed.gateway_repository import NAME, ensembles_of, stage_gateway
from triton_ensembles.building.places import Weights
from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.builds import build_all
from triton_ensembles.commands.serve import wait
from triton_ensembles.gateway.models_toml import Table, read_table
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.processes import StopSignals
from triton_ensembles.project.recipe.places import find_ensembles
from triton_ensembles.server.gateway_server import GatewayServer
from triton_ensembles.server.ports import Ports

_on_port = options.collected(
    Ports,
    "ports",
    options.port("port", Ports.sagemaker, "SageMaker's port: /invocations, /ping and /metrics.", "sagemaker"),
)


@click.command()
@options.with_weights
@options.for_target
@output.quiet
@_on_port
@click.option("--archive", is_flag=True, help="Write dist/TARGET/gateway.tar.gz, for ModelDataUrl, and do not serve.")
def gateway(weights: Weights, chosen_target: options.BuildTarget, ports: Ports, archive: bool) -> None:
    """Serve the models of gateway/models.toml by name and version, as one container does, until Ctrl-C.

    \b
      gateway               build what the table names, serve it on http://127.0.0.1:8080
      gateway --archive     build it, and write the archive for ModelDataUrl

    \b
      curl http://127.0.0.1:8080/invocations -d '{"modelname": "NAME", "payload": {"text": "…"}}'
    """
    places = options.current_places()
    table_path = places.root / NAME / GATEWAY_TABLE
    table = _table(table_path)
    built_for = chosen_target.built() if archive else chosen_target.served_here()
    names = ensembles_of(table, [ensemble.name for ensemble in find_ensembles(places.ensembles)], table_path, built_for)
    if not archive:
        ports.refuse_busy(GatewayServer.port_names)  # before the build, which may take long
    built = build_all(tuple(names), weights, built_for)
    folder = stage_gateway(built, table, table_path, places, built_for)
    if archive:
        written = places.archive(built_for.name, NAME)
        write_archive(folder, written, progress=output.progress())
        output.result(f"{shown(written)}  {written.stat().st_size / 1e6:.1f} MB")
        return
    say = output.progress()
    say(f"starting tritonserver with {', '.join(names)}")
    with (
        StopSignals() as signals,
        GatewayServer(
            folder,
            ports=ports,
            log=places.build / "gateway.log",
            python=python_of({NAME: folder}),
            progress=lambda seconds: say(f"  loading, {seconds:.0f} s"),
        ) as server,
    ):
        signals.defer()
        _announce(table, server)
        wait(signals, server)
    click.echo("stopped")


def _table(path: Path) -> Table:
    if not path.is_file():
        cure = "write it as docs/gateway.md says"
        raise EnsembleError("the table of the gateway's models is missing", path=path, cure=cure)
    return read_table(path)


def _announce(table: Table, server: GatewayServer) -> None:
    click.echo(f"ready: {', '.join(map(str, table.models))}")
    click.echo(f"  invoke   http://{server.sagemaker_url}/invocations")
    click.echo(f"  metrics  http://{server.sagemaker_url}/metrics")
    click.echo(f"  log      {shown(server.log)}")
    click.echo("Ctrl-C stops it")
