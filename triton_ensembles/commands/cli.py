"""The command line: its commands, each imported when it is called, and how errors are printed."""

import contextlib
import fcntl
import gc
import importlib
import io
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem
from typing_extensions import override

from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.ground.extras import missing_extra
from triton_ensembles.ground.processes import StopSignals
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.ground.system_errors import explained
from triton_ensembles.project.location import FALLBACK
from triton_ensembles.version import __version__

_TEMPORARY = "triton-ensembles-"
NEW_SECONDS = 60.0
_COLLECT_AFTER = 50_000  # objects; by default 700, and a check of many models spends a sixth of its time on it

# The modules of commands/ in groups, with their lines in --help, for which importing them all would take seconds.
GROUPS = {
    "See": {
        "check": "Check model repositories and archives for faults, without a server.",
        "upgrade": "Show what changes for a repository between two images.",
        "list": "Show every ensemble: steps, artifacts, sizes and digest.",
        "graph": "Draw an ensemble's DAG as Mermaid, SVG, PNG or PDF.",
        "diff": "Show how two archives, folders, revisions or targets differ.",
        "lsp": "Check what is typed, for editors: a language server.",
        "schema": "Print the JSON schema of ensemble.toml, for editors.",
    },
    "Make": {
        "setup": "Check this machine, install tritonserver, say what works here.",
        "new": "Write a new ensemble, or import a model repository that exists.",
        "build": "Build ensembles, or pack any repository, into dist/.",
        "engines": "Write what another machine needs to build TensorRT plans.",
        "clone": "Copy an archive many times, under other names.",
        "prune": "Free the disk of what no archive needs.",
    },
    "Run": {
        "demo": "Build, serve, send example requests, print the answers, stop.",
        "serve": "Serve ensembles or any repository with tritonserver until Ctrl-C.",
        "endpoint": "Serve the SageMaker API here, for boto3 code.",
        "host": "Serve any number of archives by name, each loaded when requested.",
        "export": "Write files for many hosts: HAProxy, Kubernetes.",
        "gateway": "Serve several models by name and version in one container.",
    },
    "Measure": {
        "perf": "Measure with perf_analyzer: CSV, JSON and a plot.",
        "profile": "Measure what an archive takes: size, memory, cold start, answers.",
        "tune": "Search for the fastest settings of an ensemble here.",
        "plan": "Predict instances, cold starts, latency and cost of an endpoint.",
    },
    "AWS, and the local endpoint": {
        "upload": "Copy archives to S3.",
        "deploy": "Create or update a multi-model endpoint.",
        "invoke": "Send requests to the models of an endpoint.",
        "autoscale": "Scale the number of instances with the load.",
        "status": "Show an endpoint's state, instances and cost.",
        "undeploy": "Delete all that upload and deploy created.",
    },
}
COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}


class _Commands(click.Group):
    """Imports a command when it is called. An :class:`EnsembleError` is printed as ``error: ...``; the code is 1 or 2.

    Wrong usage and a command whose packages are not installed have click's exit code, 2. SIGINT and SIGTERM end any
    command in the same way, with exit code 130 and 143: its children end, and its temporary files are removed.
    """

    @override
    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    @override
    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        try:
            module = importlib.import_module(f"triton_ensembles.commands.{name}")
        except ModuleNotFoundError as error:
            if missing := missing_extra(error, name):
                return _missing_command(name, missing)
            raise
        return next(command for command in vars(module).values() if isinstance(command, click.Command))

    @override
    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(list(commands.items()))

    @override
    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=line) for name, line in COMMANDS.items() if name.startswith(incomplete)
        ] + options

    @override
    def resolve_command(self, context: click.Context, arguments: list[str]) -> Any:
        name = arguments[0]
        if name not in COMMANDS and not name.startswith("-") and (meant := nearest(name, COMMANDS)):
            context.fail(f"No such command {name!r}. Did you mean {meant!r}?")
        return super().resolve_command(context, arguments)

    @override
    def invoke(self, context: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # which may not have every letter of a name
                stream.reconfigure(errors="backslashreplace")
        gc.set_threshold(_COLLECT_AFTER)
        try:
            with StopSignals() as signals, _temporary_files(signals):
                result = super().invoke(context)
                signals.defer()
                return result
        except KeyboardInterrupt as stop:
            number = signal.Signals(stop.args[0] if stop.args else signal.SIGINT)
            with contextlib.suppress(OSError):
                click.echo(f"stopped by {'Ctrl-C' if number == signal.SIGINT else number.name}", err=True)
            sys.exit(128 + number)
        except EnsembleError as error:
            _fail(error, code=2 if isinstance(error, UsageError) else 1)
        except ModuleNotFoundError as error:
            if missing := missing_extra(error, context.invoked_subcommand or ""):
                _fail(missing, code=2)
            raise
        except OSError as error:
            if known := explained(error):
                _fail(known)
            raise


def _missing_command(name: str, missing: EnsembleError) -> click.Command:
    """In the place of a command whose packages are not installed: its line of help, and the line that installs them."""

    @click.command(
        name, help=f"{COMMANDS[name]}\n\nNot installed: {missing}", context_settings={"ignore_unknown_options": True}
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="...")
    def command(arguments: tuple[str, ...]) -> None:  # noqa: ARG001 - whatever they are
        _fail(missing, code=2)

    return command


@contextlib.contextmanager
def _temporary_files(signals: StopSignals) -> Iterator[None]:
    """A folder for all temporary files of the command and its children, removed at the end whatever happens.

    A signal in the middle of their own cleaning up would otherwise leave some behind. What a command that was killed
    has left is also removed: the kernel has released its lock.
    """
    try:
        folder = tempfile.mkdtemp(prefix=_TEMPORARY)
        lock = os.open(folder, os.O_RDONLY)
    except OSError:  # many commands need none
        yield
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
    _remove_left_folders(Path(folder).parent)
    before, tempdir = os.environ.get("TMPDIR"), tempfile.tempdir
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    try:
        yield
    finally:
        signals.hold()
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
        tempfile.tempdir = tempdir
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before


def _remove_left_folders(parent: Path) -> None:
    """Remove temporary folders that no running command has locked. A new one may not be locked yet."""
    for folder in parent.glob(f"{_TEMPORARY}*"):
        with contextlib.suppress(OSError):  # it is gone, in use, or another user's
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - os.fstat(lock).st_ctime > NEW_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _fail(error: EnsembleError, code: int = 1) -> NoReturn:
    with contextlib.suppress(OSError):  # the stream may be what cannot be written
        click.echo(f"error: {error}", err=True)
    try:
        importlib.import_module("triton_ensembles.commands.common.output").failure(error)
        sys.stdout.flush()
    except OSError:  # Python would flush it once more when it ends, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, prog_name="triton-ensembles")
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    show_default=False,
    help="The folder that holds ensembles/; build/, dist/ and reports/ are created there.  [default: the nearest one, "
    "from the current folder upward, or what [tool.triton-ensembles] project in a pyproject.toml names]",
)
@click.pass_context
def main(context: click.Context, project: Path | None) -> None:
    """Build, check, serve and deploy Triton ensembles for SageMaker multi-model endpoints.

    An ensemble is a folder in ensembles/: a Triton model repository, and ensemble.toml, the recipe for the files that
    git does not hold. It is built into dist/TARGET/NAME.tar.gz, an archive that SageMaker serves as a TargetModel.

    A repository or an archive that you have needs neither: name its path to check, serve, perf, endpoint or build.
    """
    if context.get_parameter_source("project") is ParameterSource.DEFAULT_MAP:
        context.meta[FALLBACK] = project  # of a checkout's build.py
    else:
        context.obj = project
