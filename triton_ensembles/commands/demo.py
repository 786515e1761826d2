"""``build.py demo``"""

from __future__ import annotations

from pathlib import Path

import click

from triton_ensembles.commands.options import build_all, build_options, server_of, warn_of_random_weights
from triton_ensembles.examples.demo import ask


@click.command()
@build_options
def demo(names: tuple[str, ...], weights: str, weights_dir: Path | None) -> None:
    """Build, serve on free ports, send a photograph and some sentences, print the answers, stop."""
    built = build_all(names, weights, weights_dir)
    with server_of(built) as server:
        for each in built:
            click.secho(f"\n{each.name}", bold=True)
            ask(each.name, server.http_url, click.echo)
            warn_of_random_weights(each)
