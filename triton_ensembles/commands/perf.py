"""``build.py perf``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from triton_ensembles.commands.building import build_all, build_options
from triton_ensembles.perf.command import perf as measure
from triton_ensembles.perf.command import perf_options


@click.command()
@build_options
@perf_options
def perf(names: tuple[str, ...], weights: str, weights_dir: Path | None, **options: Any) -> None:
    """Build, then measure each ensemble with perf_analyzer: concurrency sweep, time by step, CSV, JSON and a plot."""
    measure(build_all(names, weights, weights_dir), **options)
