"""``build.py build``"""

from __future__ import annotations

from pathlib import Path

import click

from triton_ensembles.commands.building import build_all, build_options


@click.command()
@build_options
def build(names: tuple[str, ...], target: str, weights: str, weights_dir: Path | None) -> None:
    """Build ensembles (all of them, or those named) into dist/TARGET/NAME.tar.gz.

    What has not changed is not made again; content decides, not time stamps.
    """
    build_all(names, target, weights, weights_dir)
