"""``new``: an ensemble, and a project for it."""

from pathlib import Path

import click

from triton_ensembles.commands import output
from triton_ensembles.errors import shown
from triton_ensembles.paths import COMMAND
from triton_ensembles.starter.fresh import write_fresh
from triton_ensembles.starter.project import root_of


@click.command()
@click.argument("name")
@output.quiet
@click.pass_context
def new(context: click.Context, name: str) -> None:
    """Write a new ensemble."""
    root, whole = root_of(context.find_object(Path), Path.cwd())
    written = write_fresh(root, name, whole=whole)
    for path in written.paths:
        click.echo(shown(root / path))
    click.echo(f"next: {COMMAND} check {name} --strict, {COMMAND} demo {name}")
