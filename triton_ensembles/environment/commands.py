"""Running one program as a step of a long build."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_REMOVED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONPYCACHEPREFIX", "LD_LIBRARY_PATH")


class CommandError(Exception):
    """The program ended with ``code``; ``output`` is what it wrote, both streams."""

    def __init__(self, arguments: Sequence[str | Path], code: int, output: str) -> None:
        super().__init__(f"{Path(arguments[0]).name} ended with {code}")
        self.code = code
        self.output = output

    @property
    def reason(self) -> str:
        """The last line that says what was wrong; programs print it below their explanations and progress."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        named = [line for line in lines if "error" in line.lower()]
        return (named or lines or [f"exit code {self.code}, without a word"])[-1]


def output_of(
    arguments: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    """Run a program to its end and give its standard output.

    The caller's Python settings and library path don't reach it unless ``environment`` (which then is the whole
    environment) says so: the interpreters run here are often not the one that runs this.

    Raises:
        CommandError: it can't be started, or its exit code isn't 0.
    """
    if environment is None:
        environment = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    try:
        process = subprocess.Popen(
            [os.fspath(argument) for argument in arguments],
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise CommandError(arguments, 127, str(error)) from error
    try:
        output, errors = process.communicate()
    except BaseException:
        # pip and conda start programs of their own, which would go on writing into a folder that is being removed.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    if process.returncode:
        raise CommandError(arguments, process.returncode, output + "\n" + errors)
    return output
