"""Options that several of the commands have in common."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from triton_ensembles.deploy.resource_names import check_endpoint_name
from triton_ensembles.triton.targets import NAMES

Command = Callable[..., Any]


def _checked_name(_context: click.Context, _option: click.Parameter, value: str) -> str:
    return check_endpoint_name(value)


endpoint = click.option(
    "--endpoint",
    default="triton-ensembles",
    show_default=True,
    callback=_checked_name,
    help="The endpoint's name; the names of all its parts are made of it.",
)
bucket = click.option(
    "--bucket",
    default="",
    help="Where the archives are; made when missing.  [default: triton-ensembles-REGION-ACCOUNT]",
)
prefix = click.option(
    "--prefix",
    default="",
    help="Folder in the bucket.  [default: the endpoint's name]",
)
target = click.option(
    "--target",
    type=click.Choice(NAMES),
    default="cpu",
    show_default=True,
    help="Take the archives of dist/TARGET.",
)
archives = click.argument(
    "archives", nargs=-1, metavar="[ARCHIVE]...", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
allow_random = click.option(
    "--allow-random",
    is_flag=True,
    help="Serve archives with random weights all the same, to rehearse the endpoint; status says so ever after.",
)
patience = click.option(
    "--timeout", default=3600.0, show_default=True, help="Seconds that SageMaker may take to create, change or delete."
)


def careful(command: Command) -> Command:
    """SIGTERM is like Ctrl-C for the command: what it has made so far is removed before it ends."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        before = signal.signal(signal.SIGTERM, interrupt)
        try:
            return command(*args, **options)
        finally:
            signal.signal(signal.SIGTERM, before)

    return run
