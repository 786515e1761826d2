"""``build.py diff``"""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from triton_ensembles.building.build import choose
from triton_ensembles.building.model_selection import artifacts_for, choose_models
from triton_ensembles.building.recipe import read_recipe
from triton_ensembles.building.staging import read_models, staged_configs
from triton_ensembles.commands import options
from triton_ensembles.errors import EnsembleError
from triton_ensembles.triton.model_config import CONFIG, format_config
from triton_ensembles.triton.targets import CPU, NAMES, Target, gpu


@click.command("diff")
@click.argument("one", type=click.Choice(NAMES))
@click.argument("other", type=click.Choice(NAMES))
@options.names
@options.image
def diff(one: str, other: str, names: tuple[str, ...], image: str) -> None:
    """What differs between two targets: the servers, and what is staged for them of each ensemble.

    Nothing is built for it. `diff cpu gpu --image 24.09` is the usual question.
    """
    if one == other:
        raise EnsembleError(f"both are {one}", cure="say: diff cpu gpu --image 24.09")
    old, new = (CPU if name == "cpu" else gpu(image) for name in (one, other))
    words = new.differences()
    click.secho(f"{one} -> {other}", bold=True)
    for what, was in old.differences().items():
        click.echo(f"  {what:24} {was}{'' if was == words[what] else f'  ->  {words[what]}'}")
    for folder in choose(options.current_places().ensembles, names):
        click.secho(f"\n{folder.name}", bold=True)
        before, after = (_staged(folder, target) for target in (old, new))
        for line in difflib.unified_diff(before, after, one, other, lineterm="", n=3):
            click.secho(line, fg={"+": "green", "-": "red", "@": "cyan"}.get(line[0]))


def _staged(folder: Path, target: Target) -> list[str]:
    """The files that are made and the configs, as lines."""
    recipe = read_recipe(folder)
    made = artifacts_for(recipe, choose_models(recipe, read_models(folder), target))
    lines = [f"{artifact.path}  made by {artifact.maker}" for artifact in made]
    for config in staged_configs(folder, folder.name, recipe, target).values():
        lines += ["", f"{config.name}/{CONFIG}", *format_config(config).splitlines()]
    return lines
