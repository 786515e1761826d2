"""Wheels of files with pinned versions and sha256, downloaded by pip."""

from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.pip import run_pip
from triton_ensembles.ground.programs import ProgramError


def download_wheels(requirements: Path, destination: Path, purpose: str, *options: str) -> list[Path]:
    """Download the wheels that ``requirements`` lists into the folder ``destination``, without what they require.

    ``options`` are further ones of ``pip download``. When that fails, :class:`EnsembleError` has its words.
    """
    wheels = ("download", "--no-deps", "--require-hashes", "--only-binary=:all:", *options)
    try:
        run_pip(*wheels, "--requirement", requirements, "--dest", destination)
    except ProgramError as error:
        errors = [line for line in error.output.splitlines() if line.startswith("ERROR")]
        reason = errors[0] if errors else " ".join(error.output.split())
        cure = "connect this machine to a package registry (pip's index-url), and try again"
        raise EnsembleError(f"{purpose} could not be downloaded: {reason}", path=requirements, cure=cure) from error
    return sorted(destination.glob("*.whl"))
