"""What the reference runs in, made on demand: its Python packages and nginx, in .bench-gateway/."""

from __future__ import annotations

from pathlib import Path

from benchmarks.aws_gateway.nginx import unpacked_nginx
from benchmarks.venvs import made_venv
from checkout import ROOT
from triton_ensembles.programs import ProgramError
from triton_ensembles.progress import Progress

FOLDER = ROOT / ".bench-gateway"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def reference_venv(progress: Progress) -> Path:
    """The virtual environment of the workers (1.3 GB). Raises :class:`EnsembleError`: pip failed, with its reason."""
    return made_venv(FOLDER / "venv", REQUIREMENTS, "the packages of the gateway's reference", progress)


def reference_nginx(progress: Progress) -> Path | None:
    """nginx, or None where the package manager has none: then gunicorn answers clients itself."""
    try:
        return unpacked_nginx(FOLDER / "nginx")
    except ProgramError as error:
        progress(f"nginx is left out of the reference: {error.last_line}")
        return None
