"""Runs one program to its end, as a step of a long build."""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import die_with_parent, end, uninterrupted

_REMOVED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONPYCACHEPREFIX", "LD_LIBRARY_PATH")


class ProgramError(Exception):
    """A program failed: ``code`` is its exit code (127 if it could not be started), ``output`` both of its streams,
    and ``errors`` the second."""

    def __init__(self, arguments: Sequence[str | Path], code: int, output: str, errors: str) -> None:
        super().__init__(f"{Path(arguments[0]).name} ended with {code}")
        self.code = code
        self.output = f"{output}\n{errors}"
        self.errors = errors

    @property
    def last_line(self) -> str:
        """The last line of the output: of a script that says so, its reason."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return (lines or [f"exit code {self.code} and no output"])[-1]

    @property
    def reason(self) -> str:
        """The last line of the output that names an error; programs print it below their explanations and progress."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        named = [line for line in lines if "error" in line.lower()]
        return (named or lines or [f"exit code {self.code} and no output"])[-1]


def neutral_environment() -> dict[str, str]:
    """Return this process's environment without its Python settings and library path: the interpreters that are run
    here are often not the one that runs this."""
    return {name: value for name, value in os.environ.items() if name not in _REMOVED}


def output_of(
    arguments: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    seconds: float | None = None,
) -> str:
    """Run a program to its end and return its standard output.

    Args:
        environment: the program's whole environment; :func:`neutral_environment` by default.
        cwd: the program's working folder.
        seconds: how long it may take.

    Raises:
        ProgramError: it cannot be started, or its exit code is not 0.
        subprocess.TimeoutExpired: it takes longer.
    """
    settings: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    settings |= {"env": neutral_environment() if environment is None else dict(environment), "cwd": cwd}
    try:
        with started(arguments, **settings, text=True, errors="replace") as process:
            output: str
            output, errors = process.communicate(timeout=seconds)
    except OSError as error:
        raise ProgramError(arguments, 127, "", str(error)) from error
    if process.returncode:
        raise ProgramError(arguments, process.returncode, output, errors)
    return output


@contextlib.contextmanager
def started(arguments: Sequence[str | Path], **settings: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a program, which has ended at the end of the block, with all that it has started: pip and conda start
    others, which would go on writing into a folder that is being removed. Raises OSError when it cannot be started.

    Args:
        settings: of ``subprocess.Popen``.
    """
    with contextlib.ExitStack() as ends:
        with uninterrupted():  # a signal that comes meanwhile is raised when the program is one of those to end
            process = ends.enter_context(
                subprocess.Popen(
                    [os.fspath(argument) for argument in arguments],
                    start_new_session=True,  # Ctrl-C reaches only this process, which ends the program
                    preexec_fn=die_with_parent(),
                    **settings,
                )
            )
            ends.callback(end, process)
        yield process


def run_step(
    failure: str,
    arguments: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    path: Path | None = None,
    cure: str = "",
) -> str:
    """As :func:`output_of`, for a program that must succeed.

    Raises:
        EnsembleError: it fails; ``failure`` says what that means, followed by the program's reason.
    """
    try:
        return output_of(arguments, environment=environment, cwd=cwd)
    except ProgramError as error:
        raise EnsembleError(f"{failure}: {error.reason}", path=path, cure=cure) from error
