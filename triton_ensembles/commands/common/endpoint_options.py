"""The options of commands on endpoints: which endpoint, the archives, and where in S3 they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from triton_ensembles.commands.common import options
from triton_ensembles.commands.common.output import warn_of_random_weights
from triton_ensembles.deploy.archives import Archive, find_archives, read_archive, refuse_random
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import S3Prefix, archive_prefix
from triton_ensembles.deploy.keys import SUFFIX
from triton_ensembles.deploy.placement import common_target
from triton_ensembles.deploy.resource_names import check_endpoint_name
from triton_ensembles.ground.errors import shown
from triton_ensembles.project.recipe.places import find_ensembles

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
        """Read them, with a warning for each that has random weights.

        Raises:
            EnsembleError: there are none, one cannot be read, or one has random weights and they are not allowed.
        """
        paths = [self._built(path) for path in self.archives] or project_archives(self.target)
        chosen = [read_archive(path) for path in paths]
        if not self.archives:
            _report_others(options.current_places().dist / self.target, chosen)
        for name in refuse_random(chosen, allowed=self.allow_random):
            warn_of_random_weights(name, random=True)
        return chosen

    def only_of(self, archives: Sequence[Archive]) -> Archive:
        """Return the one that --single is for. Raises :class:`click.UsageError`: there are several."""
        if len(archives) > 1:
            names = ", ".join(archive.name for archive in archives)
            message = f"--single serves one archive, and these are {len(archives)}: {names}; name one of them"
            raise click.UsageError(message)
        return archives[0]

    def _built(self, path: Path) -> Path:
        """Return the archive in dist/TARGET for the name of an ensemble; other paths as they are."""
        is_name = len(path.parts) == 1 and not path.suffix and not path.exists()
        return options.current_places().archive(self.target, path.name) if is_name else path

    def target_of(self, archives: list[Archive]) -> str:
        """Return the target that they say they were built for, or else that of the option."""
        return common_target(archives, self.target)


def project_archives(target: str) -> list[Path]:
    """Return the archives in dist/TARGET of the project's ensembles. Raises :class:`EnsembleError`: there are none."""
    places = options.current_places()
    return find_archives(places.dist / target, [folder.name for folder in find_ensembles(places.ensembles)])


def _report_others(folder: Path, chosen: Sequence[Archive]) -> None:
    not_sent = sorted(set(folder.glob(f"[!.]*{SUFFIX}")) - {archive.path for archive in chosen})
    if not_sent:
        names = ", ".join(shown(path) for path in not_sent[:3]) + (", …" if len(not_sent) > 3 else "")
        click.echo(f"note: left out, as no ensemble here makes them: {names}; name them to include them", err=True)
