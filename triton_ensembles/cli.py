"""The command line: which commands there are, and what becomes of errors. Each command is loaded when it is called."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click
from typing_extensions import override

from triton_ensembles.errors import EnsembleError

# Name: where the command is, and its line in --help. Loading all of them for that would take seconds.
COMMANDS = {
    "setup": ("triton_ensembles.commands.setup:setup", "Check this machine; install tritonserver and perf_analyzer."),
    "list": ("triton_ensembles.commands.list:listing", "Show every ensemble: steps, artifacts, sizes, digest."),
    "check": (
        "triton_ensembles.commands.check:check_command",
        "Find every fault before anything is built or deployed.",
    ),
    "graph": ("triton_ensembles.commands.graph:graph", "Draw an ensemble's DAG as mermaid, SVG, PNG or PDF."),
    "build": ("triton_ensembles.commands.build:build", "Build ensembles into dist/TARGET/NAME.tar.gz."),
    "engines": ("triton_ensembles.commands.engines:engines", "Write what builds TensorRT plans on another machine."),
    "diff": ("triton_ensembles.commands.diff:diff", "Show what differs between the cpu and the gpu target."),
    "clone": ("triton_ensembles.commands.clone:clone", "Write many archives of one ensemble under other names."),
    "serve": ("triton_ensembles.commands.serve:serve", "Build, then serve with the real tritonserver until Ctrl-C."),
    "demo": ("triton_ensembles.commands.demo:demo", "Build, serve, send example requests, print the answers, stop."),
    "endpoint": ("triton_ensembles.commands.endpoint:endpoint", "The SageMaker API on this machine, for boto3 code."),
    "upload": ("triton_ensembles.commands.deploy:upload", "Put archives into S3."),
    "deploy": ("triton_ensembles.commands.deploy:deploy", "Create or update a multi-model endpoint."),
    "invoke": ("triton_ensembles.commands.invoke:invoke", "Ask one model of an endpoint."),
    "autoscale": ("triton_ensembles.commands.deploy:autoscale", "Let the number of instances follow the load."),
    "status": ("triton_ensembles.commands.deploy:status", "What runs, and what it costs when known."),
    "undeploy": ("triton_ensembles.commands.deploy:undeploy", "Delete all that deploy made."),
    "perf": ("triton_ensembles.commands.perf:perf", "Build, then measure with perf_analyzer: CSV, JSON, a plot."),
}


class _Commands(click.Group):
    """Loads commands late; prints an :class:`EnsembleError` as one line and exits 1 (wrong usage exits 2: click's)."""

    @override
    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    @override
    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, attribute = COMMANDS[name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    @override
    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    @override
    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except EnsembleError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder that holds ensembles/; build/, dist/ and reports/ are made there.  [default: this checkout]",
)
@click.pass_context
def main(context: click.Context, project: Path | None) -> None:
    """Triton ensembles: from a folder of config.pbtxt to a proven archive for SageMaker.

    An ensemble is a folder in ensembles/: a Triton model repository and ensemble.toml, the recipe for what git cannot
    hold. It is built into dist/TARGET/NAME.tar.gz, which SageMaker calls a TargetModel.
    """
    context.obj = project
