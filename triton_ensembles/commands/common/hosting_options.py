"""The options of the servers that host many models: ``endpoint``, ``host``, and the hosts of ``export``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from triton_ensembles.commands.common import option_values, options
from triton_ensembles.ground.paths import user_folder


def root(name: str, kept: str) -> Any:
    """``--root`` of the server ``name``, which leaves only what is ``kept`` behind."""

    def default() -> Path:
        places = options.places_if_any()
        return (places.build if places else user_folder()) / name

    help = f"Working folder; only {kept} stay in it.  [default: build/{name} of the project, or beside tritonserver]"
    return click.option("--root", type=options.NEW_FOLDER, default=default, show_default=False, help=help)


def memory_budget(help: str, read: Callable[[str], int] = option_values.size) -> Any:
    """``--memory-budget``, in bytes."""
    return option_values.option("--memory-budget", metavar="SIZE", default="8G", read=read, help=help)


def disk_budget(help: str) -> Any:
    """``--disk-budget``, in bytes."""
    return option_values.option("--disk-budget", metavar="SIZE", default="32G", read=option_values.size, help=help)
