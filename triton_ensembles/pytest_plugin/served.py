"""What a path stands for on a server: a model repository, one model of it, or an archive of either."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.archive.manifest import python_of
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.errors import EnsembleError
from triton_ensembles.progress import Progress
from triton_ensembles.project import ENSEMBLES
from triton_ensembles.triton.targets import CPU

RECIPE, CONFIG = "ensemble.toml", "config.pbtxt"


@dataclass(frozen=True)
class Served:
    name: str
    repository: Path


def served(path: Path, scratch: Path, progress: Progress) -> Served:
    if not path.exists():
        raise EnsembleError("there is no such file or folder", path=path)
    if (path / RECIPE).is_file():
        built = built_of(path, progress)
        return Served(built.name, built.repository)
    name, folder = path.resolve().name.removesuffix(".tar.gz"), Path(tempfile.mkdtemp(dir=scratch))
    if path.is_file():
        extract(path, folder / "models", lambda _: None)
        return Served(name, folder / "models")
    if (path / CONFIG).is_file():
        (folder / name).symlink_to(path.resolve())
        return Served(name, folder)
    return Served(name, path)


def built_of(folder: Path, progress: Progress) -> Built:
    folder = folder.resolve()
    if folder.parent.name != ENSEMBLES:
        raise EnsembleError(f"a folder with {RECIPE} is built in its project, in {ENSEMBLES}/", path=folder)
    return build(folder, CPU, Places.of(folder.parents[1]), allow_random=True, progress=progress)


def common_python(all_served: Sequence[Served]) -> str:
    return python_of({each.name: each.repository for each in all_served})
