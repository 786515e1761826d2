"""The files of one variant, below a folder of this machine."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NoReturn

from triton_ensembles.ground.errors import EnsembleError

_OF_TOOLS = frozenset({".DS_Store", ".gitkeep", ".gitignore", "Thumbs.db", "__pycache__", ".git", ".ipynb_checkpoints"})


def own_files(place: str, table: Path) -> Iterator[tuple[str, Path]]:
    """The files in the folder that the column ``files`` of a row of ``table`` names, each with its path in it. A
    relative path is one in the folder of the table. Raises :class:`EnsembleError`: there is no such folder, the path
    leads out of the table's folder, or something in it is no file."""
    if place.startswith("s3://"):
        cure = f"copy them first (aws s3 sync {place} FOLDER), and name the folder"
        raise EnsembleError(f"{place!r} is in a bucket, and the files of a variant are in a folder", cure=cure)
    if "\0" in place or "://" in place:
        raise EnsembleError(f"{place!r} is not a folder", cure="name one")
    if ".." in PurePosixPath(place).parts:
        message = f"the folder {place!r} is written with '..'"
        raise EnsembleError(message, cure=f"name one below {table.parent}, or write its path from /")
    folder = table.parent / place
    try:
        if folder.is_dir():
            return _listed(folder)
    except OSError as error:
        _refuse(error)
    raise EnsembleError(f"there is no folder {place!r}", cure="its path is relative to the folder of the table")


def _listed(root: Path) -> Iterator[tuple[str, Path]]:
    for path, folders, names in os.walk(root, onerror=_refuse):
        folders[:] = sorted(set(folders) - _OF_TOOLS)
        if link := next((folder for folder in folders if Path(path, folder).is_symlink()), None):
            raise EnsembleError("this is a link to a folder", path=Path(path, link), cure="put the files there")
        for name in sorted(set(names) - _OF_TOOLS):
            file = Path(path, name)
            try:
                is_file = stat.S_ISREG(file.stat().st_mode)
            except OSError as error:
                _refuse(error)
            if not is_file:
                raise EnsembleError("this is not a file", path=file, cure="remove it")
            yield file.relative_to(root).as_posix(), file


def _refuse(error: OSError) -> NoReturn:
    raise EnsembleError(f"this cannot be read: {error.strerror}", path=error.filename) from error
