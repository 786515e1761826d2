"""Refusals of the operating system, in words for users: a full disk, a missing permission, a file in the way."""

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import COMMAND

_FREE = f"free some space, and run the command again; {COMMAND} prune removes what no archive needs"
_PERMIT = "change the permissions, or choose another folder"
_MOVE = "move it away, or choose another folder"

# What is wrong and how to fix it. An OSError with any other number is a bug of this project.
_CAUSES: Mapping[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", _FREE),
    errno.EDQUOT: ("the disk quota is used up", _FREE),
    errno.EFBIG: ("this process may not write a file of that size", "raise its limit (ulimit -f)"),
    errno.EROFS: ("the file system is read-only", "mount it for writing, or choose another folder"),
    errno.EACCES: ("permission denied", _PERMIT),
    errno.EPERM: ("the operation is not permitted", _PERMIT),
    errno.ENOTDIR: ("this is not a folder, and one is needed here", _MOVE),
    errno.EEXIST: ("this is not a folder, and one is needed here", _MOVE),
    errno.ENOTEMPTY: ("this is a folder, and another file or folder is to take its place", _MOVE),
    errno.EISDIR: ("this is a folder, and a file is needed here", _MOVE),
    errno.ENAMETOOLONG: ("this name is too long for the file system", "choose a shorter one"),
    errno.ELOOP: ("this link leads to itself", "remove it"),
    errno.EMFILE: ("this process has too many files open", "raise its limit (ulimit -n)"),
    errno.ENFILE: ("the system has too many files open", "end other programs"),
    errno.ENOMEM: ("there is not enough memory", "end other programs"),
    errno.EIO: ("the disk cannot be read or written (an input/output error)", "look into the system's log (dmesg)"),
    errno.ESTALE: ("the network file system no longer has this file", "mount it again"),
    errno.ETXTBSY: ("this program is running and cannot be replaced", "stop it"),
}


def explained(error: OSError) -> EnsembleError | None:
    """The error for users, or None for one that they cannot cause."""
    if error.errno == errno.ENOENT and error.filename is None and "temporary directory" in str(error):
        cure = "free some space in /tmp, or set TMPDIR to a folder that can be written"
        return EnsembleError("there is no temporary folder that can be written", cure=cure)
    if error.errno is None or error.errno not in _CAUSES:
        return None
    message, cure = _CAUSES[error.errno]
    # Of two names, the second is that of the file that was to be written. Some errors have numbers of open files.
    named = [name for name in (error.filename2, error.filename) if isinstance(name, str | bytes | os.PathLike)]
    if not named:
        return EnsembleError(f"{message}, so that a file or the output could not be written", cure=cure)
    path = Path(os.fsdecode(named[0]))
    return EnsembleError(message, path=_in_the_way(path) if error.errno == errno.ENOTDIR else path, cure=cure)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error of the system that names no file, as that of a full disk, be about ``path``."""
    try:
        yield
    except OSError as error:
        if error.errno in _CAUSES and not isinstance(error.filename, str | bytes | os.PathLike):
            error.filename = os.fspath(path)
        raise


def _in_the_way(path: Path) -> Path:
    """The file among the parents of ``path`` that should be a folder."""
    return next((parent for parent in reversed(path.parents) if parent.exists() and not parent.is_dir()), path)
