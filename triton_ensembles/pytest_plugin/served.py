"""What a path stands for on a server: a model repository, one model of it, or an archive of either."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.archive.manifest import python_of
from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.errors import EnsembleError
from triton_ensembles.progress import Progress
from triton_ensembles.pytest_plugin.archives import built_of
from triton_ensembles.recipe.places import RECIPE
from triton_ensembles.triton.model_config import CONFIG
from triton_ensembles.triton.server import TritonServer


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


def server_of(all_served: Sequence[Served], *, arguments: Sequence[str], log: Path) -> TritonServer:
    python = python_of({each.name: each.repository for each in all_served})
    return TritonServer([each.repository for each in all_served], arguments=arguments, log=log, python=python)
