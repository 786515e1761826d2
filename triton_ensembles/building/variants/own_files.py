"""The files of one variant: below a folder of this machine, or below an address of a bucket."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

from triton_ensembles.building.s3 import s3_client
from triton_ensembles.ground.errors import EnsembleError

S3 = "s3://"
_OF_TOOLS = frozenset({".DS_Store", ".gitkeep", ".gitignore", "Thumbs.db", "__pycache__", ".git", ".ipynb_checkpoints"})
_CONNECTIONS = 32

Identity = tuple[str | int, ...]
"""What changes with the content of a file, and costs no reading of it."""


class Buckets:
    """The client of S3, made when it is needed, for any thread."""

    def __init__(self) -> None:
        self._making = Lock()
        self._client: Any = None

    @contextmanager
    def reading(self, address: str) -> Iterator[Any]:
        """The client; what fails is told as :class:`EnsembleError`."""
        with self._making:
            self._client = self._client or s3_client(max_pool_connections=_CONNECTIONS)
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield self._client
        except (BotoCoreError, ClientError, Boto3Error) as error:
            reason, cure = " ".join(str(error).split())[:200], "see to the address and the credentials"
            raise EnsembleError(f"{address} cannot be read: {reason}", cure=cure) from error


def own_files(place: str, table: Path, buckets: Buckets) -> "OwnFiles":
    """Files that the column ``files`` of a row of ``table`` names. A relative path is one in the folder of the table.
    Raises :class:`EnsembleError`: there is no such folder, or the path leads out of the table's folder."""
    if place.startswith(S3):
        bucket, _, prefix = place.removeprefix(S3).partition("/")
        return _Bucket(buckets, bucket, prefix if prefix.endswith("/") or not prefix else f"{prefix}/")
    if "\0" in place or "://" in place:
        raise EnsembleError(f"{place!r} is neither a folder nor an s3:// address", cure="name one of them")
    if ".." in PurePosixPath(place).parts:
        message = f"the folder {place!r} is written with '..'"
        raise EnsembleError(message, cure=f"name one below {table.parent}, or write its path from /")
    folder = table.parent / place
    try:
        if folder.is_dir():
            return _Folder(folder)
    except OSError as error:
        _refuse(error)
    raise EnsembleError(f"there is no folder {place!r}", cure="its path is relative to the folder of the table")


@dataclass(frozen=True)
class _Folder:
    folder: Path

    def listed(self) -> Iterator[tuple[str, Identity]]:
        """The path of each file in the folder, with its identity. Raises :class:`EnsembleError`."""
        for path, folders, names in os.walk(self.folder, onerror=_refuse):
            folders[:] = sorted(set(folders) - _OF_TOOLS)
            if link := next((folder for folder in folders if Path(path, folder).is_symlink()), None):
                raise EnsembleError("this is a link to a folder", path=Path(path, link), cure="put the files there")
            for name in sorted(set(names) - _OF_TOOLS):
                file = Path(path, name)
                try:
                    status = file.stat()
                except OSError as error:
                    _refuse(error)
                if not stat.S_ISREG(status.st_mode):
                    raise EnsembleError("this is not a file", path=file, cure="remove it")
                inner = file.relative_to(self.folder).as_posix()
                yield inner, (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)

    def fetched(self, inner: str, _scratch: Path) -> Path:
        return self.folder / inner


@dataclass(frozen=True)
class _Bucket:
    buckets: Buckets
    bucket: str
    prefix: str

    def listed(self) -> Iterator[tuple[str, Identity]]:
        with self.buckets.reading(self._address) as client:
            for page in client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.prefix):
                for stored in page.get("Contents", ()):
                    inner = stored["Key"].removeprefix(self.prefix)
                    if inner and not inner.endswith("/"):
                        yield inner, (stored["Size"], stored["ETag"])

    def fetched(self, inner: str, scratch: Path) -> Path:
        """The file on this machine; it lies in ``scratch``. Raises :class:`EnsembleError`."""
        scratch.mkdir(exist_ok=True)
        path = scratch / inner.replace("/", "%2F")
        with self.buckets.reading(self._address) as client:
            client.download_file(self.bucket, self.prefix + inner, str(path))
        return path

    @property
    def _address(self) -> str:
        return f"{S3}{self.bucket}/{self.prefix}"


OwnFiles = _Folder | _Bucket


def _refuse(error: OSError) -> None:
    raise EnsembleError(f"this cannot be read: {error.strerror}", path=error.filename) from error
