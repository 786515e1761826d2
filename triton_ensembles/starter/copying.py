"""Copies of folders: files only, whatever leads to them."""

import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError

SKIPPED = frozenset({".git", "__pycache__", ".ipynb_checkpoints", ".DS_Store"})


@dataclass
class Copied:
    """Notes on what was copied."""

    links: list[Path] = field(default_factory=list)  # links in whose places files and folders were copied
    dead: list[Path] = field(default_factory=list)  # links that lead nowhere
    others: list[Path] = field(default_factory=list)  # devices, pipes and sockets, which were left out


def copy_tree(source: Path, copy: Path, copied: Copied, above: tuple[Path, ...] = ()) -> None:
    """Copy the folder or file ``source``, which was reached through the folders ``above``, to ``copy``, which does not
    exist. Raises :class:`EnsembleError`: a link leads back to a folder that it lies in; OSError: a file cannot be read,
    or the copy not be written."""
    if source.is_symlink():
        (copied.links if source.exists() else copied.dead).append(source)
    if source.is_dir():
        if any(source.samefile(folder) for folder in above):
            raise EnsembleError("this link leads to a folder that it lies in", path=source, cure="remove it")
        copy.mkdir()
        for path in sorted(source.iterdir()):
            if path.name not in SKIPPED and path.suffix != ".pyc":
                copy_tree(path, copy / path.name, copied, (*above, source))
    elif source.is_file():
        with source.open("rb") as read, copy.open("xb") as written:  # copy2 would blame a file that is gone by then
            shutil.copyfileobj(read, written)
        shutil.copystat(source, copy)
        copy.chmod(copy.stat().st_mode | stat.S_IWUSR)  # nobody could remove the copy of a read-only folder
    elif source.exists():
        copied.others.append(source)
