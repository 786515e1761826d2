"""Unpacks an archive as SageMaker does: regular files and folders only, and nothing outside the model's folder."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from triton_ensembles.archive.budget import ArchiveError, Budget
from triton_ensembles.archive.tar import safe_path, unsafe_because
from triton_ensembles.archive.tar_stream import Member, TarStream
from triton_ensembles.ground.errors import EnsembleError

_CHUNK = 1 << 20
_MANY = 2000  # members: reading all their names first would cost the usual archive a quarter of its time
_MOST_SLACK = 4096  # bytes that a file or folder takes in addition to its content: one block of the file system


class ExtractionError(EnsembleError):
    """The archive is damaged, dangerous or not an archive at all. ``rule`` is the id of the rule of `check`."""

    def __init__(self, rule: str, message: str, cure: str) -> None:
        super().__init__(message, cure=cure)
        self.rule = rule


_CURES = {
    "archive-unreadable": "upload a tar archive compressed with gzip: tar -C folder -czf name.tar.gz .",
    "archive-truncated": "upload it again: it is incomplete",
    "archive-bomb": "leave out the files that are that large or compress that well",
    "sagemaker-unsafe-member": "pack with relative names: tar -C folder -czf name.tar.gz .",
    "sagemaker-symbolic-link": "pack what the link points to: tar -h (--dereference)",
    "sagemaker-hard-link": "store the file itself: tar --hard-dereference",
    "sagemaker-device": "leave it out of the archive",
}


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
        raise _refused(error.rule, error.message) from None


def _extract(file: IO[bytes], folder: Path, reserve: Callable[[int], None]) -> int:
    budget = Budget()
    tar = TarStream.gzipped(file, budget)
    size = 0
    folders: set[str] = set()
    for number, member in enumerate(tar):
        if number == _MANY:
            place = file.tell()  # the last member may be refused: reading on takes far less time than writing
            file.seek(0)
            for one in TarStream.gzipped(file):
                _checked(one)
            file.seek(place)
        path = _checked(member)
        needed = _MOST_SLACK * (1 + budget.take_folders(path, folders)) + (member.size if member.is_file else 0)
        reserve(needed)
        size += needed
        try:
            _place(tar, member, f"{folder}/{path}")
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise _refused("sagemaker-unsafe-member", f"'{member.name}' is both a file and a folder") from None
        except OSError as error:
            if error.errno not in (errno.ENAMETOOLONG, errno.EINVAL):
                raise
            raise _refused("sagemaker-unsafe-member", f"'{member.name[:200]}…' is not a valid file name") from None
    tar.drain()  # gzip only shows at its end whether all of it arrived
    return size


def _checked(member: Member) -> str:
    name = safe_path(member.name)
    if not name and not (member.is_folder and set(member.name) <= set("./") and ".." not in member.name):
        raise _refused("sagemaker-unsafe-member", unsafe_because(member.name))
    if member.type == b"2":
        raise _refused("sagemaker-symbolic-link", f"'{member.name}' is a symbolic link to '{member.target}'")
    if member.type == b"1":
        raise _refused("sagemaker-hard-link", f"'{member.name}' is a hard link to '{member.target}'")
    if not (member.is_file or member.is_folder):
        raise _refused("sagemaker-device", f"'{member.name}' is a device or a pipe")
    return name


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


def _refused(rule: str, message: str) -> ExtractionError:
    return ExtractionError(rule, message, _CURES[rule])
