"""The recipe that a model repository without one implies: an archive of its files, as they are."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from triton_ensembles.archive.budget import ArchiveError, Budget
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.place import FOLDER as EXAMPLES
from triton_ensembles.triton.destination import Destination

LEFT_OUT = frozenset({".git", ".gitignore", ".gitattributes", "__pycache__", ".ipynb_checkpoints", ".DS_Store"})
"""The names of files of tools, which no archive has."""


@dataclass(frozen=True)
class Implied:
    """A model repository that is packed as it is, without files of tools (.git, __pycache__) and example requests.

    Links become what they lead to, because SageMaker refuses archives with links."""

    name: str  # that of the folder or the archive, without its suffix
    path: Path  # what the user named
    repository: Path  # the folder whose folders are the models, which tritonserver is told to serve
    models: tuple[str, ...]  # the models in it, by their folders
    tops: tuple[str, ...]  # those that no ensemble of it has as a step
    python: str = ""  # the minor version that the steps need, such as "3.10"; "" where it does not matter
    is_complete: bool = False  # whether the build has written its configs, so that Triton need not complete them
    destination: Destination = field(default_factory=Destination)  # where it will be served, if it is packed

    @property
    def written(self) -> Mapping[str, Path]:
        """The folder of each model as people wrote it, with its examples."""
        return {model: self.repository / model for model in self.models}

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield the files and folders to pack, as :func:`files_of`."""
        return files_of(self.repository, {f"{top}/{EXAMPLES}" for top in self.tops})


def files_of(root: Path, left_out: Collection[str] = ()) -> Iterator[tuple[str, Path]]:
    """Yield the files and folders below ``root`` by their paths in it, what links lead to included; a folder comes
    before what it holds.

    Args:
        left_out: paths of others than those of tools.

    Raises:
        EnsembleError: there is more than an archive may hold, or something that none can.
    """
    budget = Budget()
    waiting: list[tuple[str, str, tuple[str, ...]]] = [("", os.path.realpath(root), ())]
    while waiting:
        folder, real, above = waiting.pop()
        if real in above:
            raise EnsembleError("this link leads to a folder that it is in", path=root / folder, cure="remove it")
        with os.scandir(real) as items:
            children = sorted(items, key=lambda item: item.name)
        for child in children:
            inner = f"{folder}/{child.name}" if folder else child.name
            if child.name in LEFT_OUT or child.name.endswith(".pyc") or inner in left_out:
                continue
            path = Path(child.path)
            if not path.exists():
                cure = "remove it, or put the file there"
                raise EnsembleError("this link leads to nothing", path=root / inner, cure=cure)
            if not (path.is_dir() or path.is_file()):  # copying one may never end
                raise EnsembleError("this is a device or a pipe, not a file", path=root / inner, cure="remove it")
            try:
                budget.take_entry(inner)  # before any is copied: links can make a few folders into any number
            except ArchiveError as error:
                message = f"this cannot be an archive: {error.message}"
                raise EnsembleError(message, path=root, cure="remove what the models do not need") from None
            yield inner, path
            if path.is_dir():
                below = os.path.realpath(path) if child.is_symlink() else child.path
                waiting.append((inner, below, (*above, real)))
