"""The options that several commands on endpoints share, and what they do on SIGTERM."""

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
    help="The endpoint's name; the names of its model and configuration begin with it.",
)
bucket = click.option(
    "--bucket",
    default="",
    help="The bucket of the archives; created if it does not exist.  [default: triton-ensembles-REGION-ACCOUNT]",
)
prefix = click.option("--prefix", default="", help="Folder in the bucket.  [default: the endpoint's name]")
target = click.option(
    "--target", type=click.Choice(NAMES), default="cpu", show_default=True, help="Use the archives of dist/TARGET."
)
archives = click.argument(
    "archives", nargs=-1, metavar="[ARCHIVE]...", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
allow_random = click.option(
    "--allow-random",
    is_flag=True,
    help="Serve archives with random weights anyway, to rehearse the endpoint; the command status then reports them.",
)
timeout = click.option(
    "--timeout", default=3600.0, show_default=True, help="Seconds that SageMaker may take to create, change or delete."
)


def clean_up_on_sigterm(command: Command) -> Command:
    """SIGTERM is like Ctrl-C for the command: what it has created so far is deleted before it ends."""

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
