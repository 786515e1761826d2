"""Unpacks an archive as SageMaker does: regular files and folders only, and nothing outside the model's folder."""

import errno
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from triton_ensembles.archive.gzip_stream import ArchiveError, GzipStream
from triton_ensembles.archive.tar import TAR_BUFFER, StrictHeader, safe_path
from triton_ensembles.archive.tree import MOST_ENTRIES
from triton_ensembles.errors import EnsembleError

_CHUNK = 1 << 20
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
            _check_names(file)
            file.seek(0)
            stream = GzipStream(file)
            size = _extract(stream, folder, reserve)
            while stream.read(_CHUNK):  # gzip only shows at its end whether all of it arrived
                pass
            return size
    except ArchiveError as error:
        raise _refused(error.rule, error.message) from None
    except tarfile.TarError as error:
        raise _refused("archive-unreadable", f"this is not a tar archive compressed with gzip ({error})") from None
    except (ValueError, OverflowError, EOFError) as error:  # which tarfile raises for crafted headers
        raise _refused("archive-truncated", f"the tar data is damaged ({error})") from None


def _check_names(file: IO[bytes]) -> None:
    """Refuse the archive for its last member before the first is written: reading takes far less time, and no space."""
    for count, member in enumerate(_members(GzipStream(file))):
        if count >= MOST_ENTRIES:
            raise _refused("archive-bomb", f"it has more than {MOST_ENTRIES} members")
        _checked(member)


def _members(stream: GzipStream) -> Iterator[tarfile.TarInfo]:
    tar = tarfile.open(fileobj=stream, mode="r|", bufsize=TAR_BUFFER, tarinfo=StrictHeader, errorlevel=2)  # noqa: SIM115
    for member in tar:
        yield member
        tar.members = []  # type: ignore[attr-defined]  # otherwise tarfile keeps every member


def _extract(stream: GzipStream, folder: Path, reserve: Callable[[int], None]) -> int:
    size = 0
    tar = tarfile.open(fileobj=stream, mode="r|", bufsize=TAR_BUFFER, tarinfo=StrictHeader, errorlevel=2)  # noqa: SIM115
    for count, member in enumerate(tar):
        if count >= MOST_ENTRIES:
            raise _refused("archive-bomb", f"it has more than {MOST_ENTRIES} members")
        target = folder / _checked(member)
        needed = _MOST_SLACK + (member.size if member.isreg() else 0)
        reserve(needed)
        size += needed
        try:
            _place(tar, member, target)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise _refused("sagemaker-unsafe-member", f"'{member.name}' is both a file and a folder") from None
        except OSError as error:
            if error.errno not in (errno.ENAMETOOLONG, errno.EINVAL):
                raise
            raise _refused("sagemaker-unsafe-member", f"'{member.name[:200]}…' is not a valid file name") from None
        tar.members = []  # type: ignore[attr-defined]  # otherwise tarfile keeps every member
    return size


def _checked(member: tarfile.TarInfo) -> str:
    name = safe_path(member.name)
    if not name and not (member.isdir() and set(member.name) <= set("./") and ".." not in member.name):
        raise _refused("sagemaker-unsafe-member", f"'{member.name}' leads out of the model's folder")
    if member.issym():
        raise _refused("sagemaker-symbolic-link", f"'{member.name}' is a symbolic link to '{member.linkname}'")
    if member.islnk():
        raise _refused("sagemaker-hard-link", f"'{member.name}' is a hard link to '{member.linkname}'")
    if not (member.isreg() or member.isdir()):
        raise _refused("sagemaker-device", f"'{member.name}' is a device or a pipe")
    return name


def _place(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    source = tar.extractfile(member)
    assert source is not None  # it is a regular file
    with target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            file.write(chunk)
    target.chmod(0o755 if member.mode & 0o100 else 0o644)
    # By this time Triton recognizes that a packed environment has changed (pb_env.cc).
    os.utime(target, (member.mtime, member.mtime))


def _refused(rule: str, message: str) -> ExtractionError:
    return ExtractionError(rule, message, _CURES[rule])
