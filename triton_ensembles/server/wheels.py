"""Wheels of files with pinned versions and sha256, downloaded by pip."""

import os
import sys
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.programs import ProgramError, output_of


def download_wheels(requirements: Path, destination: Path, purpose: str, *options: str) -> list[Path]:
    """Download the wheels that ``requirements`` lists into the folder ``destination``, without what they require.

    ``options`` are further ones of ``pip download``. When that fails, :class:`EnsembleError` has its words.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", *options]
    command += ["-r", os.fspath(requirements), "-d", os.fspath(destination)]
    try:
        output_of(command)
    except ProgramError as error:
        errors = [line for line in error.output.splitlines() if line.startswith("ERROR")]
        reason = errors[0] if errors else " ".join(error.output.split())
        cure = "connect this machine to a package registry (pip's index-url), and try again"
        raise EnsembleError(f"{purpose} could not be downloaded: {reason}", path=requirements, cure=cure) from error
    return sorted(destination.glob("*.whl"))
