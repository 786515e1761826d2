"""The command line: options, printing and exit codes. All work is done elsewhere."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from triton_ensembles import demo as demo_module
from triton_ensembles.build import Built, Places, build, choose, last_built
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.home import install_home
from triton_ensembles.machine import check_machine
from triton_ensembles.modelconfig import ModelConfig
from triton_ensembles.paths import BUILD, DIST, ENSEMBLES
from triton_ensembles.recipe import read_recipe
from triton_ensembles.server import Ports, TritonServer
from triton_ensembles.staging import find_ensemble, read_models
from triton_ensembles.targets import TARGETS, Target

PLACES = Places(ENSEMBLES, BUILD, DIST)


class _Group(click.Group):
    """Prints an :class:`EnsembleError` as one line and exits 1; wrong usage exits 2 (click's own rule)."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except EnsembleError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Triton ensembles: from a folder of config.pbtxt to a proven archive for SageMaker.

    An ensemble is a folder in ensembles/: a Triton model repository and ensemble.toml, the recipe for what git cannot
    hold. It is built into dist/TARGET/NAME.tar.gz, which SageMaker calls a TargetModel.
    """


_target_option = click.option(
    "--target", type=click.Choice(list(TARGETS)), default="cpu", show_default=True, help="What the archive is for."
)


def _build_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.argument("names", nargs=-1, metavar="[ENSEMBLE]..."),
        click.option(
            "--target", type=click.Choice(list(TARGETS)), default="cpu", show_default=True, help="What to build for."
        ),
        click.option(
            "--weights",
            type=click.Choice(["auto", "pretrained"]),
            default="auto",
            show_default=True,
            help="auto: where weights cannot be had, go on with seeded random ones and say so loudly. "
            "pretrained: fail instead.",
        ),
        click.option(
            "--weights-dir",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="A folder with source files that you have; searched first for SOURCE/FILE and FILE.",
        ),
    ):
        command = option(command)
    return command


@main.command()
def setup() -> None:
    """Check this machine and install tritonserver and perf_analyzer into .triton/."""
    check_machine()
    install_home(progress=click.echo)


@main.command("build")
@_build_options
def build_command(names: tuple[str, ...], target: str, weights: str, weights_dir: Path | None) -> None:
    """Build ensembles (all of them, or those named) into dist/TARGET/."""
    _build(names, target, weights, weights_dir)


@main.command("list")
@_target_option
def list_command(target: str) -> None:
    """Show every ensemble: steps, artifacts, sizes, weights, environment, digest."""
    for folder in choose(PLACES.ensembles, ()):
        recipe = read_recipe(folder)
        click.secho(f"{folder.name}  {recipe.description}", bold=True)
        configs = read_models(folder)
        use = configs[find_ensemble(folder, configs)].ensemble_scheduling.step
        steps = [
            f"{step.model_name} ({_engine(configs[step.model_name])})" for step in use if step.model_name in configs
        ]
        click.echo(f"  steps: {' -> '.join(steps)}")
        _describe(last_built(folder.name, TARGETS[target], PLACES))


@main.command()
@_build_options
@click.option("--http-port", default=8000, show_default=True, help="KServe v2 over HTTP.")
@click.option("--grpc-port", default=8001, show_default=True, help="KServe v2 over gRPC.")
@click.option("--metrics-port", default=8002, show_default=True, help="Prometheus metrics.")
def serve(
    names: tuple[str, ...],
    target: str,
    weights: str,
    weights_dir: Path | None,
    http_port: int,
    grpc_port: int,
    metrics_port: int,
) -> None:
    """Build, then serve with the real tritonserver until Ctrl-C."""
    ports = Ports(http=http_port, grpc=grpc_port, metrics=metrics_port)
    built = _build(names, target, weights, weights_dir)
    with _serve(built, ports) as server:
        click.echo(f"ready: {', '.join(each.name for each in built)}")
        click.echo(f"  HTTP     http://{server.http_url}/v2")
        click.echo(f"  gRPC     {server.grpc_url}")
        click.echo(f"  metrics  http://{server.metrics_url}/metrics")
        click.echo(f"  log      {shown(server.log)}")
        click.echo("Ctrl-C stops it")
        _wait_for_signal(server)
    click.echo("stopped")


@main.command()
@_build_options
def demo(names: tuple[str, ...], target: str, weights: str, weights_dir: Path | None) -> None:
    """Build, serve on free ports, send a photograph and some sentences, print the answers, stop."""
    built = _build(names, target, weights, weights_dir)
    with _serve(built, Ports.free()) as server:
        for each in built:
            click.secho(f"\n{each.name}", bold=True)
            demo_module.run(each.name, server.http_url, click.echo)
            _warn_of_random_weights(each)


def _build(names: tuple[str, ...], target: str, weights: str, weights_dir: Path | None) -> list[Built]:
    folders = choose(PLACES.ensembles, names)
    return [_build_one(folder, TARGETS[target], weights == "auto", weights_dir) for folder in folders]


def _build_one(folder: Path, target: Target, allow_random: bool, weights_dir: Path | None) -> Built:
    started = time.monotonic()
    built = build(
        folder,
        target,
        PLACES,
        allow_random=allow_random,
        weights_dir=weights_dir,
        progress=lambda line: click.echo(f"[{folder.name} {time.monotonic() - started:5.1f} s] {line}"),
    )
    size = built.archive.stat().st_size / 1e6
    word = f"built in {time.monotonic() - started:.1f} s" if built.changed else "unchanged, nothing to do"
    click.echo(f"{shown(built.archive)}  {size:.1f} MB  sha256 {built.sha256[:12]}…  {word}")
    _warn_of_random_weights(built)
    return built


def _warn_of_random_weights(built: Built) -> None:
    if built.random:
        line = f"!!! {built.name} HAS RANDOM WEIGHTS: its sources could not be had. Its answers mean nothing. !!!"
        click.secho(line, fg="red", bold=True, err=True)


def _serve(built: list[Built], ports: Ports) -> TritonServer:
    click.echo(f"starting tritonserver with {', '.join(each.name for each in built)}")
    return TritonServer(
        [each.repository for each in built],
        ports=ports,
        log=BUILD / "tritonserver.log",
        progress=lambda seconds: click.echo(f"  loading, {seconds:.0f} s"),
    )


def _wait_for_signal(server: TritonServer) -> None:
    """Until SIGINT, SIGTERM, or the server's own end, which is an error."""
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    while not asked.wait(0.2):
        if not server.alive():
            raise EnsembleError("tritonserver ended by itself", path=server.log)
    click.echo("\nstopping")


def _describe(built: Built | None) -> None:
    if built is None:
        click.echo("  not built (or changed by hand since): make build-ensembles")
        return
    manifest = built.manifest
    for path, artifact in manifest["artifacts"].items():
        maker = artifact["made_from"]["maker"]
        _row(path, artifact["size"], f"{maker}{', RANDOM' if artifact['random'] else ''}")
    for name, environment in manifest["environments"].items():
        packages = ", ".join(f"{package} {version}" for package, version in sorted(environment["packages"].items()))
        about = f"Python {environment['python']} by {environment['provider']}: {packages}"
        _row(f"{name}_env.tar.gz", environment["size"], about)
    _row(shown(built.archive), built.archive.stat().st_size, f"weights {manifest['weights']}, sha256 {built.sha256}")


def _engine(config: ModelConfig) -> str:
    return str(config.backend or config.platform)


def _row(name: str, size: int, about: str) -> None:
    click.echo(f"  {name:44} {size / 1e6:8.1f} MB  {about}")
