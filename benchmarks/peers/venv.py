"""The virtual environment of the peers."""

from __future__ import annotations

from pathlib import Path

from benchmarks.venvs import made_venv
from checkout import ROOT
from triton_ensembles.progress import Progress

PEERS = ROOT / ".bench-peers"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def peers_venv(progress: Progress) -> Path:
    """Its folder (1.6 GB, some minutes). Raises :class:`EnsembleError` as :func:`made_venv` does."""
    return made_venv(PEERS / "venv", REQUIREMENTS, "the peers", progress)
