"""``endpoint`` on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import click

from triton_ensembles.endpoint.announcement import LAST_LINE, environment
from triton_ensembles.endpoint.settings import Settings
from triton_ensembles.errors import shown
from triton_ensembles.paths import BUILD
from triton_ensembles.processes import StopSignals

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[KMGT]?)(i?B)?", re.IGNORECASE)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


class Size(click.ParamType[int]):
    """Bytes, such as 500M or 8G."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(value)
        size = int(float(found["number"]) * _UNITS[found["unit"].upper()]) if found else 0
        if size <= 0:
            self.fail(f"{value!r} is no size such as 500M or 8G", param, ctx)
        return size


class Bucket(click.ParamType[tuple[str, Path]]):
    """NAME=FOLDER."""

    name = "bucket"

    def convert(
        self, value: str | tuple[str, Path], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        if isinstance(value, tuple):
            return value
        name, equals, folder = value.partition("=")
        if not equals or not _BUCKET.fullmatch(name):
            self.fail(f"{value!r} is not NAME=FOLDER, with a NAME that S3 allows for a bucket", param, ctx)
        if not Path(folder).is_dir():
            self.fail(f"the folder {folder!r} of bucket {name} is not there", param, ctx)
        return name, Path(folder)


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes a free one.")
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    default=BUILD / "endpoint",
    help="Working folder: logs stay in it, all else is removed at the end.  [default: build/endpoint]",
)
@click.option(
    "--memory-budget",
    type=Size(),
    default=Settings.memory_budget,
    help="What the processes of one instance may use before its least recently used model is unloaded.  [default: 8G]",
)
@click.option(
    "--disk-budget",
    type=Size(),
    default=Settings.disk_budget,
    help="What the unpacked models of one instance may take before the least recently used is deleted.  [default: 32G]",
)
@click.option(
    "--bucket",
    "buckets",
    type=Bucket(),
    multiple=True,
    metavar="NAME=FOLDER",
    help="Let a local folder stand as a bucket. May be repeated.",
)
@click.option("--s3-url", help="Take archives from this S3, with your own credentials, and serve none.")
@click.option("--region", default="us-east-1", show_default=True, envvar="AWS_DEFAULT_REGION", help="Seen in ARNs.")
def endpoint(
    port: int,
    root: Path,
    memory_budget: int,
    disk_budget: int,
    buckets: tuple[tuple[str, Path], ...],
    s3_url: str | None,
    region: str,
) -> None:
    """Be SageMaker on this machine: its API, its runtime and S3 on one URL, the real tritonserver behind.

    boto3 code runs against it unchanged once the printed lines are exported.
    """
    if s3_url and buckets:
        raise click.UsageError("--bucket is for the own S3, --s3-url for another: give one of them")
    settings = Settings(
        root=root,
        port=port,
        memory_budget=memory_budget,
        disk_budget=disk_budget,
        buckets=dict(buckets),
        s3_url=s3_url,
        region=region,
    )

    def ready(url: str) -> None:
        click.echo(f"ready: SageMaker, its runtime and S3 on {url}; status page at {url}/\n")
        for name, value in environment(url, region, s3_url).items():
            click.echo(f"export {name}={value}")
        click.echo(f"\nlogs in {shown(settings.logs)}; {LAST_LINE}")

    with StopSignals():  # until run_endpoint has handlers of its own
        from triton_ensembles.endpoint.server import run_endpoint  # takes a second, which --help need not

        run_endpoint(settings, ready, lambda: click.echo("\nstopping: running requests may end"))
    click.echo("stopped")
