"""The options of commands on endpoints: which endpoint, the archives, and where in S3 they are."""

from dataclasses import dataclass
from pathlib import Path

import click

from triton_ensembles.commands.common import options
from triton_ensembles.commands.common.archives import chosen_archives
from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import S3Prefix, archive_prefix
from triton_ensembles.deploy.placement import common_target
from triton_ensembles.deploy.resource_names import check_endpoint_name

name = click.option(
    "--endpoint",
    default="triton-ensembles",
    callback=lambda _context, _option, name: check_endpoint_name(name),
    help="The endpoint's name; the names of its model and configuration begin with it.",
)
timeout = click.option("--timeout", default=3600.0, help="Seconds that SageMaker may take to create, change or delete.")
archive_target = options.setting("target", "Use the archives of dist/TARGET.", ", or else cpu", default="cpu")


@dataclass(frozen=True)
class Place:
    """The values of --endpoint, --bucket and --prefix."""

    endpoint: str = options.field(name)
    bucket: str | None = options.option(
        "--bucket", help="Created if missing.  [default: triton-ensembles-REGION-ACCOUNT]"
    )
    prefix: str | None = options.option("--prefix", help="Folder in the bucket.  [default: the endpoint's name]")

    def in_s3(self, aws: Aws) -> S3Prefix:
        """Return where its archives are. Raises :class:`EnsembleError`: AWS does not tell the account's number."""
        return archive_prefix(aws, self.endpoint, self.bucket, self.prefix)


@dataclass(frozen=True)
class Sent:
    """The archives that are named, or else those of the project in dist/TARGET."""

    archives: tuple[Path, ...] = options.field(
        click.argument("archives", nargs=-1, metavar="[ARCHIVE|ENSEMBLE]...", type=options.NEW_FILE)
    )
    target: str = options.field(archive_target)
    single: bool = options.field(options.single)
    allow_random: bool = options.option(
        "--allow-random",
        is_flag=True,
        help="Serve archives with random weights anyway, to rehearse the endpoint; the command status then reports "
        "them.",
    )

    def read(self) -> list[Archive]:
        """Read them, with a warning for each that has random weights. Raises :class:`EnsembleError`."""
        return chosen_archives(self.archives, self.target, allow_random=self.allow_random)

    def target_of(self, archives: list[Archive]) -> str:
        """Return the target that they say they were built for, or else that of the option."""
        return common_target(archives, self.target)
