"""Commands that tests start: ended with the test, whatever becomes of it."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeVar

from checkout import ROOT
from triton_ensembles.ground.processes import die_with_parent
from triton_ensembles.triton.server_process import ServerProcess

Server = TypeVar("Server", bound=ServerProcess)


@contextmanager
def running(*command: str, ignoring: int | None = None, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process in the project's folder, killed at the end of the test, and by the kernel when the tests are killed.

    Args:
        ignoring: a signal that is ignored when it starts, as SIGINT is in a background job of a shell.
    """
    die = die_with_parent()

    def prepare() -> None:
        die()
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # which the tests themselves may have inherited as ignored
        if ignoring is not None:
            signal.signal(ignoring, signal.SIG_IGN)

    options = {"stdout": subprocess.PIPE, "text": True, "cwd": ROOT, "preexec_fn": prepare} | options
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()  # one that has ended is left alone


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server, started, and killed at the end: it takes some seconds to unload its models, which only tests of
    its end have to see."""
    server.start()
    try:
        yield server
    finally:
        server.stop(at_once=True)


def lines_until(stream: IO[str] | None, words: str) -> list[str]:
    """What a process prints on one of its streams up to the line with these words, and nothing after it."""
    assert stream is not None
    lines: list[str] = []
    for line in stream:
        lines.append(line.rstrip("\n"))
        if words in line:
            return lines
    raise AssertionError(f"{words!r} is missing in: {lines}")
