"""The archive that a path stands for: the .tar.gz, what a folder is packed into, what an ensemble is built to."""

from __future__ import annotations

from pathlib import Path

from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.errors import EnsembleError
from triton_ensembles.progress import Progress
from triton_ensembles.project import ENSEMBLES
from triton_ensembles.recipe.places import RECIPE
from triton_ensembles.triton.targets import CPU

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
        archive = scratch / f"{path.resolve().name}{_SUFFIX}"
        write_archive(path, archive)
        return archive
    if not path.is_file():
        raise EnsembleError("there is no such file or folder", path=path)
    if not path.name.endswith(_SUFFIX):
        raise EnsembleError(f"SageMaker's multi-model endpoints serve archives named *{_SUFFIX}", path=path)
    return path


def built_of(folder: Path, progress: Progress) -> Built:
    """The ensemble of a project, built for the server on this machine. Raises :class:`EnsembleError`."""
    folder = folder.resolve()
    if folder.parent.name != ENSEMBLES:
        raise EnsembleError(
            f"a folder with {RECIPE} is built in its project, and this one is not in {ENSEMBLES}/",
            path=folder,
            cure=f"move it into {ENSEMBLES}/ of a project",
        )
    return build(folder, CPU, Places.of(folder.parents[1]), allow_random=True, progress=progress)
