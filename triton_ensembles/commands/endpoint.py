"""``endpoint`` on the command line."""

import os
import re
import signal
import tempfile
import threading
from pathlib import Path

import click

from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.arguments import chosen
from triton_ensembles.commands.common.hosted import hosted_of
from triton_ensembles.deploy.rehearsal import ENDPOINT, create_endpoint, invocation
from triton_ensembles.endpoint.announcement import LAST_LINE, environment
from triton_ensembles.endpoint.keeper import keep
from triton_ensembles.endpoint.settings import Settings
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.paths import user_folder
from triton_ensembles.ground.processes import StopSignals

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[KMGT]?)(i?B)?", re.IGNORECASE)


class Size(click.ParamType[int]):
    """Bytes, such as 500M or 8G."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(value)
        size = int(float(match["number"]) * _UNITS[match["unit"].upper()]) if match else 0
        if size <= 0:
            self.fail(f"{value!r} is not a valid size: write it as 500M or 8G", param, ctx)
        return size


@click.command()
@click.argument("names", nargs=-1, metavar="[PATH|ARCHIVE|ENSEMBLE]...")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    help="TCP port on the loopback interface; 0 picks a free one.",
)
@click.option(
    "--root",
    type=options.NEW_FOLDER,
    help="Working folder; only the logs in it are kept when the server stops.  [default: build/endpoint "
    "of the project, or endpoint/ beside tritonserver if there is no project]",
)
@click.option(
    "--memory-budget",
    type=Size(),
    default=Settings.memory_budget,
    show_default=False,
    help="Memory of each instance; beyond it, the least recently used model is unloaded.  [default: 8G]",
)
@click.option(
    "--disk-budget",
    type=Size(),
    default=Settings.disk_budget,
    show_default=False,
    help="Disk space of each instance; beyond it, the least recently used model is deleted.  [default: 32G]",
)
@click.option("--s3-url", help="Download archives from this S3, with your own credentials, instead of serving S3.")
@click.option("--region", default="us-east-1", envvar="AWS_DEFAULT_REGION", help="Region named in ARNs.")
@output.quiet
def endpoint(
    names: tuple[str, ...],
    port: int,
    root: Path | None,
    memory_budget: int,
    disk_budget: int,
    s3_url: str | None,
    region: str,
) -> None:
    """Serve SageMaker's API, its runtime and S3 on one local URL, backed by the real tritonserver.

    boto3 code runs against it unchanged once the printed lines are exported. With arguments, it begins with a
    multi-model endpoint over them: archives as they are, model repositories packed, ensembles of the project built.
    Each is refused with what check finds if SageMaker's container would refuse it. The last lines show how boto3 calls
    each of them.

    \b
      endpoint                                   an empty platform, for code that uploads and creates
      endpoint model.tar.gz path/to/models       an endpoint over model.tar.gz and models.tar.gz
    """
    if root is None:
        places = options.places_if_any()
        root = (places.build if places else user_folder()) / "endpoint"
    settings = Settings(
        root=root, port=port, memory_budget=memory_budget, disk_budget=disk_budget, s3_url=s3_url, region=region
    )
    if names and s3_url:
        raise click.UsageError("--s3-url is for archives that are in that S3: leave out the paths, or --s3-url")
    with tempfile.TemporaryDirectory(prefix="archives-") as scratch, StopSignals():
        hosted = hosted_of(chosen(names), Path(scratch)) if names else None
        failures: list[Exception] = []

        def finish() -> None:
            click.echo(f"\nlogs in {shown(settings.logs)}; {LAST_LINE}")

        def create(url: str) -> None:
            try:
                assert hosted is not None
                create_endpoint(url, region, hosted.archives, hosted.image, completes=hosted.completes)
                click.echo(f"\nthe endpoint {ENDPOINT} is in service; with these variables, Python calls it:\n")
                click.echo('import boto3, json\nruntime = boto3.client("sagemaker-runtime")')
                for target_model, config in hosted.configs.items():
                    click.echo(invocation(target_model, config))
                finish()
            except Exception as error:  # the main thread raises it
                failures.append(error)
                os.kill(os.getpid(), signal.SIGTERM)

        def ready(url: str) -> None:
            click.echo(f"ready: SageMaker, its runtime and S3 on {url}; status page at {url}/\n")
            for name, value in environment(url, region, s3_url).items():
                click.echo(f"export {name}={value}")
            if hosted is None:
                finish()
            else:  # it calls the server that waits for this
                threading.Thread(target=create, args=(url,), daemon=True).start()

        keep()
        from triton_ensembles.endpoint.server import run_endpoint  # takes a second, which --help need not

        run_endpoint(settings, ready, lambda: click.echo("\nstopping: waiting for running requests"))
    if failures:
        raise failures[0]
    click.echo("stopped")
