"""The project that a command works on: the folder given with ``build.py --project``, or this checkout."""

from __future__ import annotations

from pathlib import Path

import click

from triton_ensembles.building.places import Places
from triton_ensembles.paths import ROOT


def current_places() -> Places:
    """Where the command that runs now reads and writes. ``cli.main`` has left the folder in click's context."""
    return Places.of(click.get_current_context().find_object(Path) or ROOT)
