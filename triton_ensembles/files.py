"""Atomic writes, digests of files and values, and locks between processes."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import COMMAND
from triton_ensembles.progress import Progress
from triton_ensembles.system_errors import naming


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Yield a hidden path beside ``path`` to write to; it replaces ``path`` when the block ends.

    After an error ``path`` is unchanged and the hidden path is removed. A folder may be written, too, if ``path`` is
    not a folder yet.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with naming(path):
            yield partial
            partial.replace(path)
    finally:
        remove(partial)


def remove_partials(path: Path) -> None:
    """Remove what killed processes left in :func:`write_whole` of ``path``. The caller has the lock of all writers."""
    for partial in path.parent.glob(f".{path.name}.*.partial"):
        remove(partial)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, waiting: Progress | None = None) -> Iterator[None]:
    """Hold an advisory lock, which the kernel releases when this process ends, however it ends.

    ``waiting`` is called with a line if another process holds the lock.
    """
    from filelock import FileLock, Timeout  # imports asyncio, and most commands lock nothing

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if waiting:
            waiting(f"waiting for another process that holds {path.name}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def shared(path: Path, waiting: Progress, *, alone: bool = False) -> Iterator[None]:
    """Hold a lock that any number of processes share, or that this one has ``alone``.

    The kernel releases it when a process is killed.

    Args:
        waiting: called with a line if another process keeps this one from having the lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    with path.open("wb") as lock:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting(f"waiting for {'builds that are running' if alone else f'{COMMAND} prune'}, by the lock {path}")
            fcntl.flock(lock, kind)
        yield


def file_digest(path: Path) -> str:
    """sha256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_digest(path: Path) -> str:
    """:func:`file_digest` of a file; of a folder the sha256 of the names, contents and executable bits of its files."""
    if not path.is_dir():
        return file_digest(path)
    return digest({name: [os.access(file, os.X_OK), file_digest(file)] for name, file in files_in(path).items()})


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    return sum(file.stat().st_size for file in (files_in(path).values() if path.is_dir() else [path]))


def files_in(folder: Path) -> dict[str, Path]:
    """Every file below ``folder`` by its path in it, in alphabetical order."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def read_text(path: Path, most: int) -> str:
    """The text of a file that people write.

    Args:
        most: bytes. Nothing ever comes from a pipe, and some files never end.

    Raises:
        EnsembleError: it is longer, not a file, not UTF-8, or cannot be read.
    """
    try:
        if path.exists() and not path.is_file():
            raise EnsembleError("this is not a file", path=path)
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise EnsembleError(f"this file cannot be read: {error.strerror}", path=path) from error
    if len(content) > most:
        raise EnsembleError(f"this file is longer than {most >> 10} KiB", path=path, cure="shorten it")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EnsembleError("this is not a text file in UTF-8", path=path, cure="save it as UTF-8") from error


def parse_json(content: str | bytes) -> Any:
    """The value of a JSON document. Raises ValueError, also for one that is nested too deeply."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def digest(value: Any) -> str:
    """sha256 of a JSON-serializable value, in hexadecimal digits; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
