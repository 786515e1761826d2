"""What the commands that build have in common: progress, the server over what was built, and the loud warning."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from triton_ensembles.archive.manifest import python_of
from triton_ensembles.building.build import Built, build, choose
from triton_ensembles.commands import options
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.system_errors import explained
from triton_ensembles.triton.ports import Ports
from triton_ensembles.triton.server import TritonServer
from triton_ensembles.triton.targets import Target


def build_all(
    names: tuple[str, ...], weights: str, weights_dir: Path | None, target: Target, engines_from: Path | None = None
) -> list[Built]:
    """Build the named ensembles, or all of them, and print the progress. One that fails does not stop the others.

    Raises:
        EnsembleError: some failed; when there are several ensembles, it sums up which, after all have been tried.
    """
    places, made = options.current_places(), []
    folders = choose(places.ensembles, names)
    failed: dict[str, EnsembleError] = {}
    for folder in folders:
        started = time.monotonic()
        try:
            built = build(
                folder,
                target,
                places,
                allow_random=weights == "auto",
                weights_dir=weights_dir,
                engines_from=engines_from,
                progress=timed_progress(folder.name),
            )
        except (EnsembleError, OSError) as caught:
            error = explained(caught) if isinstance(caught, OSError) else caught
            if error is None or len(folders) == 1:
                raise
            click.echo(f"error: {error}", err=True)
            failed[folder.name] = error
            continue
        size = built.archive.stat().st_size / 1e6
        result = f"built in {time.monotonic() - started:.1f} s" if built.changed else "unchanged, nothing to do"
        click.echo(f"{shown(built.archive)}  {size:.1f} MB  sha256 {built.sha256[:12]}…  {result}")
        warn_of_random_weights(built)
        made.append(built)
    if failed:
        raise EnsembleError(summary_of(failed, len(folders), "could not be built"))
    return made


def summary_of(failed: Mapping[str, EnsembleError], count: int, what: str) -> str:
    """Which of ``count`` ensembles failed, and why: a line for each."""
    reasons = [f"\n  {name}: {error.headline}" for name, error in failed.items()]
    return f"{len(failed)} of {count} ensembles {what}:{''.join(reasons)}"


def timed_progress(name: str) -> Callable[[str], None]:
    """Prints lines with the name and the seconds since now."""
    started = time.monotonic()
    return lambda line: click.echo(f"[{name} {time.monotonic() - started:5.1f} s] {line}")


def warn_of_random_weights(built: Built) -> None:
    """Print a loud line on stderr if the ensemble has random weights."""
    if built.random:
        line = f"{built.name} HAS RANDOM WEIGHTS: the source files could not be downloaded. Its answers mean nothing."
        click.secho(line, fg="red", bold=True, err=True)


def server_of(built: list[Built], ports: Ports | None = None) -> TritonServer:
    """A server for the built ensembles, not started yet, on free ports if none are given.

    Raises:
        EnsembleError: they are for different Pythons.
    """
    python = python_of({each.name: each.repository for each in built})
    click.echo(f"starting tritonserver with {', '.join(each.name for each in built)}")
    return TritonServer(
        [each.repository for each in built],
        ports=ports,
        log=options.current_places().build / "tritonserver.log",
        python=python,
        progress=lambda seconds: click.echo(f"  loading, {seconds:.0f} s"),
    )
