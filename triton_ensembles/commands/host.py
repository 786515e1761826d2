"""``host`` on the command line."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from triton_ensembles.archive.manifest import GATEWAY_TABLE
from triton_ensembles.commands.common import hosting_options, option_values, options, output
from triton_ensembles.ground.errors import EnsembleError, UsageError, shown
from triton_ensembles.host.settings import Settings
from triton_ensembles.server.ports import LOOPBACK, Ports

_SHOWN = 5  # of those that are left out


@click.command()
@click.argument("source", metavar="FOLDER|s3://BUCKET/PREFIX")
@options.collected(
    Settings,
    "settings",
    click.option(
        "--http-port", type=click.IntRange(0, 65535), default=Ports.http, help="KServe v2 over HTTP; 0: a free one."
    ),
    click.option(
        "--bind",
        metavar="ADDRESS",
        default=LOOPBACK,
        help="0.0.0.0: whoever reaches this machine may ask; see --token-file.",
    ),
    hosting_options.root("host", "the logs and the list for --preload"),
    hosting_options.memory_budget(
        "Memory of tritonserver and its Python processes, such as 24G, or 90% of this machine's; beyond it, the least "
        "recently used model is unloaded.",
        read=option_values.memory,
    ),
    hosting_options.disk_budget("Disk space of unpacked archives; beyond it, the least recently used one is deleted."),
    click.option(
        "--pin",
        multiple=True,
        metavar="NAME",
        callback=lambda _context, _option, names: {name: f"--pin {name}" for name in names},
        help="Load this model first and never unload it. May be repeated.",
    ),
    click.option(
        "--requests-at-once", type=click.IntRange(1), default=1000, help="Further ones are answered with 503."
    ),
    option_values.option(
        "--largest-body",
        metavar="SIZE",
        default="64M",
        read=option_values.size,
        help="Larger requests are answered with 413.",
    ),
    option_values.option(
        "--seconds",
        metavar="TIME",
        default="60s",
        read=option_values.seconds,
        help="How long a request waits for its model to load (then 503; the load goes on), and for the answer.",
    ),
    click.option(
        "--token-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A file with one word, which clients send as Authorization: Bearer.",
    ),
    click.option(
        "--disable-auto-complete-config",
        is_flag=True,
        help="Triton's own flag: every config is complete, so that Python models start once and not twice.",
    ),
    options.evict_ahead,
    options.server,
    click.option("--python", metavar="VERSION", default="", help="The Python of Python steps, such as 3.10."),
    click.option(
        "--as-container",
        is_flag=True,
        help="It is the main program of a container: models see its environment variables, and their log is printed.",
    ),
)
@click.option(
    "--preload",
    metavar="FILE|last",
    default="",
    help="Load these models in the background: a file with a name a line, or what was loaded when the host last ended.",
)
@click.option(
    "--table",
    type=options.FILE,
    help="The table of /invocations, whose models are pinned: docs/gateway.md.  [default: models.toml in FOLDER]",
)
@click.option("--s3-url", default=None, help="Another S3 than AWS's, for s3://.")
@output.quiet
def host(source: str, settings: Settings, preload: str, table: Path | None, s3_url: str | None) -> None:
    """Serve any number of models by name over KServe v2: each is loaded when it is requested, and the least recently
    used one is unloaded when the memory is full.

    The models of a FOLDER are its archives (NAME.tar.gz), models (NAME/config.pbtxt) and model repositories
    (NAME/MODEL/config.pbtxt); those of an S3 prefix its archives. New, changed and deleted ones are noticed; a changed
    one is loaded beside the old one, which answers until then. Clients are those of any Triton over HTTP: curl,
    tritonclient.http. gRPC is not served: it names the model in the message, where no balancer sees it. /ping and
    /invocations are SageMaker's, for requests that name their model in a header, or as a table says.

    \b
      host dist/cpu                                  the archives that were built
      host s3://bucket/models --memory-budget 24G    those of an S3 prefix, with your credentials
      host models --pin tokenizer --preload last     one stays loaded; what was loaded before comes back

    \b
      curl 127.0.0.1:8000/v2/models/NAME/infer -d '{"inputs": […]}'
    """
    found = _found(source, s3_url)
    chosen, settings = _tabled(table or Path(source) / GATEWAY_TABLE, settings, given=table is not None)
    names = _names(settings.loaded if preload == "last" else Path(preload), preload) if preload else []
    if settings.bind != LOOPBACK and settings.token_file is None:
        _warn(f"whoever reaches {settings.bind} may use every model; --token-file keeps others out")
    options.warn_of_open_ports(settings.server)
    import uvloop

    from triton_ensembles.host.server import serve_host  # takes a second, which --help need not
    from triton_ensembles.hosting.keeper import keep

    settings.root.mkdir(parents=True, exist_ok=True)
    if not settings.as_container:  # which ends with its main program
        keep()

    ready = partial(_announce, source, chosen, settings)
    uvloop.run(serve_host(settings, found, chosen, names, ready, _warn))
    click.echo("stopped")


def _warn(text: str) -> None:
    click.echo(f"WARNING: {text}", err=True)


def _announce(source: str, table: Any, settings: Settings, url: str, room: Any) -> None:
    models = list(room.index())
    refused = [model for model in models if model["name"] in room.refused]
    click.echo(f"ready: {len(models) - len(refused)} models of {source} on {url}")
    for model in refused[:_SHOWN]:
        _warn(f"left out: {model['reason']}")
    if len(refused) > _SHOWN:
        _warn(f"left out: {len(refused) - _SHOWN} more, which the index of models names")
    if table.models:
        click.echo(f"  invoke   {url}/invocations: {', '.join(map(str, table.models))}")
    click.echo(f"  infer    {url}/v2/models/NAME/infer\n  models   curl -X POST {url}/v2/repository/index")
    click.echo(f"  metrics  {url}/metrics\n  logs     {shown(settings.logs)}\nCtrl-C stops it")


def _tabled(path: Path, settings: Settings, *, given: bool) -> tuple[Any, Settings]:
    """The table, and settings by which its models are loaded, and may take as long as it says."""
    from triton_ensembles.host.gateway.models_toml import NO_TABLE, read_table

    if not given and not path.is_file():
        return NO_TABLE, settings
    table = read_table(path)
    pins = {model.served: f"{shown(path)}: {model}" for model in table.models}
    seconds = max(settings.seconds, *(model.seconds for model in table.models))
    return table, replace(settings, pin={**pins, **settings.pin}, seconds=seconds)


def _found(source: str, s3_url: str | None) -> Any:
    """Return where the models are."""
    from triton_ensembles.host.catalog import Folder, Prefix, Source
    from triton_ensembles.hosting.objects import Files, S3Objects

    if not source.startswith("s3://"):
        if not Path(source).is_dir():
            raise UsageError("there is no such folder", path=Path(source), cure="name a folder, or s3://BUCKET/PREFIX")
        return Source(Folder(Path(source).absolute()), Files())
    import boto3

    if not source.removeprefix("s3://").strip("/"):
        raise click.BadParameter("it names no bucket: write s3://BUCKET/PREFIX", param_hint="source")
    client = boto3.client("s3", endpoint_url=s3_url)
    return Source(Prefix(client, source), S3Objects(client))


def _names(file: Path, given: str) -> list[str]:
    if given == "last" and not file.is_file():
        return []
    try:
        return [line.strip() for line in file.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeError) as error:
        raise EnsembleError(
            f"--preload cannot be read: {error}", path=file, cure="name a file with a model a line"
        ) from None
