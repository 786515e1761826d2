"""``setup``: what the server and perf_analyzer need, and a list of what works on this machine."""

from collections.abc import Iterator

import click

from triton_ensembles.commands.common import options, output
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.extras import ENGINES, is_installed
from triton_ensembles.server.home import TritonHome, install_home
from triton_ensembles.server.interpreter import find_interpreter, install_interpreter
from triton_ensembles.server.machine import check_machine
from triton_ensembles.server.stubs import prepare_stubs
from triton_ensembles.triton.pip_server import VERSION
from triton_ensembles.triton.releases import releases, version
from triton_ensembles.triton.targets import cpu


@click.command()
@output.quiet
@click.option(
    "--image",
    metavar="RELEASE",
    type=options.IMAGE,
    default="",
    show_default=False,
    help="Also get the Python of this image of Triton's, such as 24.09, with uv, unless it is here.",
)
def setup(image: str) -> None:
    """Check this machine; install tritonserver, perf_analyzer and the Python of plain steps; say what works here.

    They go into .triton/ of a checkout; else into triton-ensembles/ in the user's cache folder (XDG_CACHE_HOME, or
    ~/.cache). The variable TRITON_ENSEMBLES_HOME names another folder.
    """
    check_machine()
    say = output.progress()
    home = install_home(progress=say)
    prepare_stubs(home, progress=say)
    if image and (python := cpu(image).python):
        install_interpreter(python, say)
        prepare_stubs(home, python, say)
    for line in _report(home):
        say(line)


def _report(home: TritonHome) -> Iterator[str]:
    yield f"server   tritonserver {VERSION} and perf_analyzer in {shown(home.folder)}"
    missing = [backend for backend, package in ENGINES.items() if not is_installed(package)]
    yield f"engines  {', '.join(backend for backend in ENGINES if backend not in missing) or 'none'}"
    if missing:
        line = f"pip install 'triton-ensembles[{missing[0]}]'"
        yield f"         not installed: {', '.join(missing)} (an extra each: {line})"
    by_python: dict[str, list[str]] = {}
    for release in releases().values():
        by_python.setdefault(release.python, []).append(release.release)
    for python in sorted(filter(None, by_python), key=version):
        images = f"of Triton's images {by_python[python][0]} to {by_python[python][-1]}"
        if find_interpreter(python):
            yield f"Python   {python}, {images}"
        else:
            newest = by_python[python][-1]
            yield f"         not installed: {python}, {images} (get it: setup --image {newest})"
