"""The files of one variant, below a folder of this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from triton_ensembles.ground.errors import EnsembleError

_OF_TOOLS = frozenset({".DS_Store", ".gitkeep", ".gitignore", "Thumbs.db", "__pycache__", ".git", ".ipynb_checkpoints"})


def own_files(place: str, table: Path) -> dict[str, Path]:
    """List the files in the folder that the column ``files`` of a row of ``table`` names, by their paths in it. A
    relative path is one in the folder of the table. Raises :class:`EnsembleError`: there is no such folder, no file is
    in it, or something else is; OSError: it cannot be read."""
    if place.startswith("s3://"):
        cure = f"copy them first (aws s3 sync {place} FOLDER), and name the folder"
        raise EnsembleError(f"{place!r} is in a bucket, and the files of a variant are in a folder", cure=cure)
    root = table.parent / place
    if not root.is_dir():
        raise EnsembleError(f"there is no folder {place!r}", cure="its path is relative to the folder of the table")
    files = {}
    for path, folders, names in os.walk(root, onerror=_raise):
        folders[:] = sorted(set(folders) - _OF_TOOLS)
        links = (folder for folder in folders if Path(path, folder).is_symlink())
        for file in (Path(path, name) for name in sorted({*names, *links} - _OF_TOOLS)):
            if not file.is_file():
                message = "this is a link to a folder" if file.is_dir() else "this is not a file"
                raise EnsembleError(message, path=file, cure="put the files themselves there")
            files[file.relative_to(root).as_posix()] = file
    if not files:
        message = f"there is no file in {place!r}"
        raise EnsembleError(message, cure="put the files there, in folders as those of the archive")
    return files


@contextmanager
def reading() -> Iterator[None]:
    """Raise an OSError in the block, which reads files of a variant, as :class:`EnsembleError` with the file's name."""
    try:
        yield
    except OSError as error:
        raise EnsembleError(f"this cannot be read: {error.strerror}", path=error.filename) from error


def _raise(error: OSError) -> NoReturn:
    raise error
