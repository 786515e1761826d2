"""Unpacks an archive as SageMaker does: regular files and folders only, and nothing outside the model's folder."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from triton_ensembles.archive.budget import ArchiveError, Budget
from triton_ensembles.archive.members import CURES, plain_path
from triton_ensembles.archive.tar_stream import Member, TarStream
from triton_ensembles.ground.errors import EnsembleError

_CHUNK = 1 << 20
_MOST_SLACK = 4096  # bytes that a file or folder takes in addition to its content: one block of the file system
_CURES = CURES | {
    "archive-unreadable": "upload a tar archive compressed with gzip: tar -C folder -czf name.tar.gz .",
    "archive-truncated": "upload it again: it is incomplete",
    "archive-bomb": "leave out the files that are that large or compress that well",
}


class ExtractionError(EnsembleError):
    """The archive is damaged, dangerous or not an archive at all. ``rule`` is the id of the rule of `check`."""

    def __init__(self, rule: str, message: str, cure: str) -> None:
        super().__init__(message, cure=cure)
        self.rule = rule


def extract(archive: Path, folder: Path, reserve: Callable[[int], None]) -> int:
    """Unpack ``archive`` (.tar.gz) into the new folder ``folder``. Returns the bytes that it takes there.

    Args:
        reserve: called with the number of bytes about to be written; it may raise to stop the extraction.

    Raises:
        ExtractionError: links, devices, names that lead outside, more than 100 times the archive's own size, data that
            breaks off or is not gzip or tar. The caller removes ``folder``.
        OSError: the disk is full.
    """
    folder.mkdir(parents=True)
    try:
        with archive.open("rb") as file:
            return _extract(file, folder, reserve)
    except ArchiveError as error:
        raise ExtractionError(error.rule, error.message, _CURES[error.rule]) from None


def _extract(file: IO[bytes], folder: Path, reserve: Callable[[int], None]) -> int:
    budget = Budget()
    tar = TarStream.gzipped(file, budget)
    size = 0
    folders: set[str] = set()
    for member in tar:
        path = plain_path(member)
        needed = _MOST_SLACK * (1 + budget.take_folders(path, folders)) + (member.size if member.is_file else 0)
        reserve(needed)
        size += needed
        try:
            _place(tar, member, f"{folder}/{path}")
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise ArchiveError("sagemaker-unsafe-member", f"'{member.name}' is both a file and a folder") from None
        except OSError as error:
            if error.errno not in (errno.ENAMETOOLONG, errno.EINVAL):
                raise
            message = f"'{member.name[:200]}…' is not a valid file name"
            raise ArchiveError("sagemaker-unsafe-member", message) from None
    tar.drain()  # gzip only shows at its end whether all of it arrived
    return size


def _place(tar: TarStream, member: Member, target: str) -> None:
    if member.is_folder:
        os.makedirs(target, exist_ok=True)  # noqa: PTH103  # of a hundred thousand paths, objects take seconds
        return
    parent = target.rpartition("/")[0]
    if not os.path.isdir(parent):  # noqa: PTH112
        os.makedirs(parent, exist_ok=True)  # noqa: PTH103
    with open(target, "wb") as file:  # noqa: PTH123
        while chunk := tar.read(_CHUNK):
            file.write(chunk)
        os.fchmod(file.fileno(), 0o755 if member.mode & 0o100 else 0o644)
    # By this time Triton recognizes that a packed environment has changed (pb_env.cc).
    os.utime(target, (member.mtime, member.mtime))
