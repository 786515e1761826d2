"""Reports that several commands share: failures, and random weights."""

from collections.abc import Mapping

import click

from triton_ensembles.ground.errors import EnsembleError


def summary_of(failed: Mapping[str, EnsembleError], count: int, action: str, things: str = "ensembles") -> str:
    """Summary of the failures among ``count`` ensembles (or ``things``): a line for each, with the reason."""
    reasons = [f"\n  {name}: {error.headline}" for name, error in failed.items()]
    return f"{len(failed)} of {count} {things} {action}:{''.join(reasons)}"


def warn_of_random_weights(name: str, *, random: bool) -> None:
    """Print a loud line on stderr if the ensemble called ``name`` has random weights."""
    if random:
        line = f"{name} HAS RANDOM WEIGHTS: the source files could not be downloaded. Its answers mean nothing."
        click.secho(line, fg="red", bold=True, err=True)
