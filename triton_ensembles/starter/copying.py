"""Copies of folders: files only, whatever leads to them; holes stay holes, and blocks are shared where the disk can."""

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from triton_ensembles.errors import EnsembleError

_FICLONE = 0x40049409  # linux/fs.h: the copy shares the blocks until one of the two is written to
_NOT_HERE = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.EXDEV, errno.ENOSYS, errno.EPERM, errno.EBADF)
SKIPPED = frozenset({".git", "__pycache__", ".ipynb_checkpoints", ".DS_Store"})


@dataclass
class Copied:
    """What was noticed on the way.

    Attributes:
        links: links in whose places files and folders were copied.
        dead: links that lead nowhere.
        others: devices, pipes and sockets, which were left out.
    """

    links: list[Path] = field(default_factory=list)
    dead: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)


def copy_tree(source: Path, copy: Path, copied: Copied) -> None:
    """Copy the folder or file ``source`` to ``copy``, which does not exist.

    Raises:
        EnsembleError: a link leads back to a folder that it lies in.
        OSError: a file cannot be read, or the copy not be written.
    """
    if source.is_symlink():
        copied.links.append(source)
    if source.is_dir():
        _copy_folder(source, copy, copied, {_identity(source)})
    else:
        _copy_entry(source, copy, copied)


def _copy_folder(source: Path, copy: Path, copied: Copied, above: set[tuple[int, int]]) -> None:
    copy.mkdir()
    for path in _inside(source):
        if path.is_symlink():
            (copied.links if path.exists() else copied.dead).append(path)
        if path.is_dir():
            if (identity := _identity(path)) in above:
                message = "this link leads to a folder that it lies in"
                raise EnsembleError(message, path=path, cure="remove it")
            _copy_folder(path, copy / path.name, copied, above | {identity})
        elif path.exists():
            _copy_entry(path, copy / path.name, copied)


def _inside(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if path.name not in SKIPPED and path.suffix != ".pyc")


def _identity(folder: Path) -> tuple[int, int]:
    found = folder.stat()
    return found.st_dev, found.st_ino


def _copy_entry(source: Path, copy: Path, copied: Copied) -> None:
    if stat.S_ISREG(source.stat().st_mode):
        _copy_file(source, copy)
    else:
        copied.others.append(source)


def _copy_file(source: Path, copy: Path) -> None:
    with source.open("rb") as read, copy.open("xb") as written:
        try:
            fcntl.ioctl(written.fileno(), _FICLONE, read.fileno())
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            _copy_data(read.fileno(), written.fileno())
    shutil.copymode(source, copy)
    copy.chmod(copy.stat().st_mode | stat.S_IWUSR)  # nobody could remove the copy of a read-only folder
    times = source.stat()
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))


def _copy_data(read: int, written: int) -> None:
    """The data of a file, without its holes."""
    size, at = os.fstat(read).st_size, 0
    os.truncate(written, size)
    while at < size:
        try:
            at = os.lseek(read, at, os.SEEK_DATA)
            end = os.lseek(read, at, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # the rest is a hole
                return
            if error.errno not in _NOT_HERE:
                raise
            end = size
        os.lseek(written, at, os.SEEK_SET)
        while at < end:
            sent = os.sendfile(written, read, at, end - at)
            if not sent:  # it was cut meanwhile
                raise EnsembleError("a file was changed while it was copied", cure="copy it again")
            at += sent
