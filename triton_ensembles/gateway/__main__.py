"""The entry point of the gateway's container: ``python -m triton_ensembles.gateway [OPTIONS] -- tritonserver …``"""

from pathlib import Path

import click
import uvloop

from triton_ensembles.gateway.container import run
from triton_ensembles.gateway.models_toml import read_table
from triton_ensembles.ground.errors import EnsembleError


@click.command(context_settings={"show_default": True})
@click.option("--table", type=click.Path(path_type=Path), required=True, help="models.toml")
@click.option("--host", default="0.0.0.0", help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8080, envvar="SAGEMAKER_BIND_TO_PORT", help="SageMaker's."
)
@click.option("--grpc", required=True, help="The Unix socket on which tritonserver will listen for gRPC: unix:PATH.")
@click.option("--http", required=True, help="That for HTTP.")
@click.argument("tritonserver", nargs=-1, required=True)
def main(table: Path, host: str, port: int, grpc: str, http: str, tritonserver: tuple[str, ...]) -> None:
    """Start TRITONSERVER, a command with its flags, and serve the models of the table in front of it.

    Ends when one of the two does: with status 0 after SIGTERM, when requests under way have been answered.
    """
    try:
        uvloop.run(run(read_table(table), host, port, grpc, http, tritonserver))
    except EnsembleError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
