"""The archive that a path stands for: the .tar.gz, what a folder is packed into, what an ensemble is built to."""

from __future__ import annotations

from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.serving.packing import pack
from triton_ensembles.serving.served import built_of, served

_SUFFIX = ".tar.gz"


def archive_of(path: Path, scratch: Path, progress: Progress) -> Path:
    """The archive, under the name that is its TargetModel.

    Args:
        scratch: a folder for an archive that is made of a folder.

    Raises:
        EnsembleError: there is nothing at ``path``, it is no .tar.gz, or it cannot be packed or built.
    """
    if (path / RECIPE).is_file():
        return built_of(path, progress).archive
    if path.is_dir():
        source = served(path, scratch, progress)
        return pack(source, scratch / f"{source.name}{_SUFFIX}", progress).archive
    if not path.is_file():
        raise EnsembleError("there is no such file or folder", path=path)
    if not path.name.endswith(_SUFFIX):
        raise EnsembleError(f"SageMaker's multi-model endpoints serve archives named *{_SUFFIX}", path=path)
    return path
