"""Files that appear whole or not at all, digests of files and values, and locks between processes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from triton_ensembles.progress import Progress


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """A hidden path beside ``path`` to write a file to; it takes the place of ``path`` when the block ends.

    After an error nothing has changed, and what was written so far is removed. A folder may be written as well, where
    ``path`` is not a folder yet.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


def remove_partials(path: Path) -> None:
    """Remove what killed processes left in :func:`write_whole` of ``path``. The caller has the lock of all writers."""
    for partial in path.parent.glob(f".{path.name}.*.partial"):
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, waiting: Progress | None = None) -> Iterator[None]:
    """Hold an advisory lock that the kernel lets go of when this process dies, however it dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if waiting:
            waiting(f"another build holds {path.name}: waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def file_digest(path: Path) -> str:
    """sha256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest(value: Any) -> str:
    """sha256 of a JSON-serialisable value; the same value gives the same digits whatever its key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
