"""``python -m triton_ensembles.endpoint``: the command without the rest of the command line."""

from __future__ import annotations

import sys

import click

from triton_ensembles.endpoint.command import endpoint
from triton_ensembles.errors import EnsembleError

if __name__ == "__main__":
    try:
        endpoint(prog_name="endpoint")
    except EnsembleError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
