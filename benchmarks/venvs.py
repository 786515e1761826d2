"""Virtual environments of what others wrote, beside the project's own: made once per version of their requirements."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from triton_ensembles.files import digest, file_digest
from triton_ensembles.programs import run_step
from triton_ensembles.progress import Progress


def made_venv(venv: Path, requirements: Path, what: str, progress: Progress) -> Path:
    """The folder ``venv``, made if it is missing or was made for other versions. ``what`` is in it, in words.

    Raises:
        EnsembleError: pip failed, with its reason.
    """
    ready = venv / "ready"
    wanted = digest([file_digest(requirements), sys.version])
    if ready.is_file() and ready.read_text() == wanted:
        return venv
    progress(f"installing {what} into {venv.parent.name}/")
    shutil.rmtree(venv, ignore_errors=True)
    pip: list[str | Path] = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", requirements]
    run_step(f"the environment of {what} could not be made", [sys.executable, "-m", "venv", venv])
    run_step(f"pip could not install {what}", pip, path=requirements)
    ready.write_text(wanted)
    return venv


def installed(venv: Path, package: str) -> str:
    """The version of a package that is pinned there."""
    (found,) = venv.glob(f"lib/python*/site-packages/{package.replace('-', '_')}-*.dist-info")
    return found.name.removesuffix(".dist-info").rpartition("-")[2]
