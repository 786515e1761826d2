"""``build.py setup``: what the server and perf_analyzer need."""

import click

from triton_ensembles.triton.home import install_home
from triton_ensembles.triton.machine import check_machine


@click.command()
def setup() -> None:
    """Check this machine and install tritonserver and perf_analyzer into .triton/."""
    check_machine()
    install_home(progress=click.echo)
