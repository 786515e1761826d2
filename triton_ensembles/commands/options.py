"""The options of the commands that build, their progress, and their warning about random weights."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from triton_ensembles.building.build import Built, build, choose
from triton_ensembles.commands.project import current_places
from triton_ensembles.errors import shown
from triton_ensembles.triton.ports import Ports
from triton_ensembles.triton.server import TritonServer
from triton_ensembles.triton.targets import CPU, NAMES, Target

target_option = click.option(
    "--target", type=click.Choice(NAMES), default="cpu", show_default=True, help="The server that the archive is for."
)


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


build_options = _options(
    click.argument("names", nargs=-1, metavar="[ENSEMBLE]..."),
    click.option(
        "--weights",
        type=click.Choice(["auto", "pretrained"]),
        default="auto",
        show_default=True,
        help="auto: use seeded random weights, with a warning, if the real ones cannot be downloaded. "
        "pretrained: fail instead.",
    ),
    click.option(
        "--weights-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A folder of source files that you already have. It is searched first, for SOURCE/FILE and FILE.",
    ),
)
image_option = click.option(
    "--image", metavar="RELEASE", default="", help="gpu: the Triton release of NVIDIA's image, such as 24.09."
)


def build_all(
    names: tuple[str, ...],
    weights: str,
    weights_dir: Path | None,
    target: Target = CPU,
    engines_from: Path | None = None,
) -> list[Built]:
    """Build the named ensembles, or all of them, and print the progress."""
    folders = choose(current_places().ensembles, names)
    return [_build_one(folder, target, weights == "auto", weights_dir, engines_from) for folder in folders]


def _build_one(
    folder: Path, target: Target, allow_random: bool, weights_dir: Path | None, engines_from: Path | None
) -> Built:
    started = time.monotonic()
    built = build(
        folder,
        target,
        current_places(),
        allow_random=allow_random,
        weights_dir=weights_dir,
        engines_from=engines_from,
        progress=lambda line: click.echo(f"[{folder.name} {time.monotonic() - started:5.1f} s] {line}"),
    )
    size = built.archive.stat().st_size / 1e6
    result = f"built in {time.monotonic() - started:.1f} s" if built.changed else "unchanged, nothing to do"
    click.echo(f"{shown(built.archive)}  {size:.1f} MB  sha256 {built.sha256[:12]}…  {result}")
    warn_of_random_weights(built)
    return built


def warn_of_random_weights(built: Built) -> None:
    """Print a loud line on stderr if the ensemble has random weights."""
    if built.random:
        line = f"{built.name} HAS RANDOM WEIGHTS: the source files could not be downloaded. Its answers mean nothing."
        click.secho(line, fg="red", bold=True, err=True)


def server_of(built: list[Built], ports: Ports | None = None) -> TritonServer:
    """A server for the built ensembles, not started yet, on free ports if none are given."""
    click.echo(f"starting tritonserver with {', '.join(each.name for each in built)}")
    return TritonServer(
        [each.repository for each in built],
        ports=ports,
        log=current_places().build / "tritonserver.log",
        progress=lambda seconds: click.echo(f"  loading, {seconds:.0f} s"),
    )
