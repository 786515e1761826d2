"""New files of a project: written into a hidden folder beside their places, and moved there all at once, or not at all:
nothing is overwritten, and a file that appeared in the meantime ends the move."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import remove, remove_abandoned
from triton_ensembles.ground.system_errors import naming
from triton_ensembles.project.location import ENSEMBLES


@contextmanager
def draft(root: Path, name: str) -> Iterator[Path]:
    """Yield an empty folder on the file system of the project ``root``; when the block ends, all in it goes to the
    same places in ``root``. After an error ``root`` is as it was. Raises :class:`EnsembleError`: a file is in the way;
    OSError: the disk is full, or the folder cannot be written."""
    folder = root / f".{name}.{os.getpid()}.partial"
    remove_abandoned(root.glob(f".{name}.*.partial"))
    try:
        folder.mkdir()
    except OSError as error:
        error.filename = os.fspath(root)  # nobody knows the hidden one
        raise
    try:
        with naming(root):
            yield folder
            _move(folder, root)
    finally:
        remove(folder)


def refuse_existing(root: Path, paths: list[str], cure: str) -> None:
    """Raise :class:`EnsembleError` for the first of ``paths`` that exists in ``root``, if only as a link."""
    for path in paths:
        if os.path.lexists(root / path):
            raise EnsembleError(f"{shown(root / path)} exists, and nothing is overwritten", cure=cure)


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files by their paths in ``folder``."""
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _move(source: Path, root: Path) -> None:
    moved: list[Path] = []
    try:
        for path, place in list(_whole(source, root)):
            refuse_existing(root, [os.fspath(place)], "move it away")
            path.rename(place)
            moved.append(place)
    except BaseException:
        for place in moved:
            remove(place)
        raise


def _whole(source: Path, root: Path) -> Iterator[tuple[Path, Path]]:
    """The paths that can be moved as they are, and where to: files, and folders that ``root`` does not have. Ensembles
    come last, so that a project that commands find is complete."""
    for path in sorted(source.iterdir(), key=lambda path: (path.name == ENSEMBLES, path.name)):
        place = root / path.name
        if path.is_dir() and place.is_dir():
            yield from _whole(path, place)
        else:
            yield path, place
