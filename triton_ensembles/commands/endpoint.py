"""``endpoint`` on the command line."""

import os
import signal
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import click

from triton_ensembles.commands.common import hosting_options, options, output
from triton_ensembles.commands.common.arguments import chosen
from triton_ensembles.commands.common.hosted import Hosted, hosted_of
from triton_ensembles.commands.common.option_rules import excludes
from triton_ensembles.endpoint.announcement import LAST_LINE, environment
from triton_ensembles.endpoint.settings import Settings
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.processes import StopSignals
from triton_ensembles.hosting.keeper import keep


@click.command()
@excludes("--s3-url", "PATH|ARCHIVE|ENSEMBLE", because="it is for archives that are in that S3")
@click.argument("names", nargs=-1, metavar="[PATH|ARCHIVE|ENSEMBLE]...")
@options.collected(
    Settings,
    "settings",
    click.option(
        "--port", type=click.IntRange(0, 65535), default=8080, help="TCP port on loopback; 0 picks a free one."
    ),
    hosting_options.root("endpoint", "the logs"),
    hosting_options.memory_budget("Memory of each instance; beyond it, the least recently used model is unloaded."),
    hosting_options.disk_budget("Disk space of each instance; beyond it, the least recently used model is deleted."),
    options.evict_ahead,
    click.option("--s3-url", help="Download archives from this S3, with your own credentials, instead of serving S3."),
    click.option("--region", default="us-east-1", envvar="AWS_DEFAULT_REGION", help="Region named in ARNs."),
    options.server,
)
@options.single
@options.for_target
@output.quiet
def endpoint(names: tuple[str, ...], settings: Settings, *, single: bool, chosen_target: options.BuildTarget) -> None:
    """Serve SageMaker's API, its runtime and S3 on one local URL, backed by the real tritonserver.

    boto3 code runs against it unchanged once the printed lines are exported. With arguments, it begins with a
    multi-model endpoint over them, or with --single with a single-model one: archives as they are, model repositories
    packed, ensembles of the project built. Each is refused with what check finds if SageMaker's container would refuse
    it. The last lines show how boto3 calls each of them.

    \b
      endpoint                                   an empty platform, for code that uploads and creates
      endpoint model.tar.gz path/to/models       an endpoint over model.tar.gz and models.tar.gz
    """
    server = settings.server
    options.warn_of_open_ports(server)
    with tempfile.TemporaryDirectory(prefix="archives-") as scratch, StopSignals():
        if single and len(names) != 1:
            raise click.UsageError("--single serves one archive, repository or ensemble: name it")
        hosted = None
        if names:
            target = replace(chosen_target.served_here(server), single=single)
            hosted = hosted_of(chosen(names), Path(scratch), target, server)
        start = _Start(settings, hosted)
        keep()
        import uvloop

        from triton_ensembles.endpoint.server import serve_endpoint  # takes a second, which --help need not

        uvloop.run(serve_endpoint(settings, start, lambda: click.echo("\nstopping: waiting for running requests")))
    if start.failure:
        raise start.failure
    click.echo("stopped")


@dataclass
class _Start:
    """Called with the URL of the server that is ready: prints it, and creates the endpoint over what is hosted."""

    settings: Settings
    hosted: Hosted | None
    failure: Exception | None = None  # which ends the server

    def __call__(self, url: str) -> None:
        click.echo(f"ready: SageMaker, its runtime and S3 on {url}; status page at {url}/\n")
        for name, value in environment(url, self.settings.region, self.settings.s3_url).items():
            click.echo(f"export {name}={value}")
        if self.hosted is None:
            self._end()
        else:  # it calls the server that waits for this
            threading.Thread(target=self._create, args=(self.hosted, url), daemon=True).start()

    def _create(self, hosted: Hosted, url: str) -> None:
        try:
            from triton_ensembles.endpoint.running import RunningEndpoint  # boto3 takes half a second

            hosted.create(RunningEndpoint(url, self.settings.region))
            self._end()
        except Exception as error:  # the main thread raises it
            self.failure = error
            os.kill(os.getpid(), signal.SIGTERM)

    def _end(self) -> None:
        click.echo(f"\nlogs in {shown(self.settings.logs)}; {LAST_LINE}")
