"""``setup``: what the server and perf_analyzer need."""

import click

from triton_ensembles.commands.common import output
from triton_ensembles.triton.home import install_home
from triton_ensembles.triton.machine import check_machine
from triton_ensembles.triton.stubs import prepare_stubs


@click.command()
@output.quiet
def setup() -> None:
    """Check this machine; install tritonserver, perf_analyzer and the Python of plain steps.

    They go into .triton/ of a checkout; else into triton-ensembles/ in the user's cache folder (XDG_CACHE_HOME, or
    ~/.cache). The variable TRITON_ENSEMBLES_HOME names another folder.
    """
    check_machine()
    say = output.progress()
    prepare_stubs(install_home(progress=say), progress=say)
