"""``gateway``: several models of one container, by name and version."""

import os
import sys
from pathlib import Path

import click

from triton_ensembles.archive.manifest import GATEWAY_TABLE, python_of
from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.packed.gateway_repository import NAME, ensembles_of, stage_gateway
from triton_ensembles.building.places import Weights
from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.builds import build_all, requests_for
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.host.gateway.models_toml import Table, read_table
from triton_ensembles.project.recipe.places import find_ensembles
from triton_ensembles.server.gateway_server import host_command, host_environment
from triton_ensembles.server.ports import Ports


@click.command()
@options.with_weights
@options.for_target
@output.quiet
@options.port("port", Ports.sagemaker, "SageMaker's port, which has KServe v2 and /metrics as well.", "port")
@click.option("--archive", is_flag=True, help="Write dist/TARGET/gateway.tar.gz, for ModelDataUrl, and do not serve.")
def gateway(weights: Weights, chosen_target: options.BuildTarget, port: int, archive: bool) -> None:
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
        Ports(sagemaker=port).refuse_busy(["sagemaker"])  # before the build, which may take long
    built = build_all(requests_for(names, weights, built_for))
    folder = stage_gateway(built, table, table_path, places, built_for)
    if archive:
        written = places.archive(built_for.name, NAME)
        write_archive(folder, written, progress=output.progress())
        output.result(f"{shown(written)}  {written.stat().st_size / 1e6:.1f} MB")
        return
    output.progress()(f"starting tritonserver with {', '.join(names)}")
    sys.stdout.flush()
    command = host_command(folder, port, places.build / NAME, python_of({NAME: folder}))
    os.execve(command[0], command, {**os.environ, **host_environment()})


def _table(path: Path) -> Table:
    if not path.is_file():
        cure = "write it as docs/gateway.md says"
        raise EnsembleError("the table of the gateway's models is missing", path=path, cure=cure)
    return read_table(path)
