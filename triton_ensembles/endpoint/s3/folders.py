"""Local folders that stand as buckets: what is in the folder is in the bucket, what is put into the bucket is a file.

A WSGI application around moto's. Before a request the bucket is made to agree with the folder, after a request that may
have changed the bucket the folder is made to agree with it. Objects of a folder are sent from their files; their ETag
is made of time and size, as it would take too long to hash every file, and has the form of a multipart upload's, which
clients do not take for an MD5.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from moto.s3.models import FakeBucket, s3_backends

from triton_ensembles.endpoint.s3.disk import DiskKey, Stored

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]
_REFUSED = b"<Error><Code>InvalidArgument</Code><Message>%s</Message></Error>"


class FileKey(DiskKey):
    """An object whose value is a file of the folder."""

    def __init__(self, path: Path, name: str, bucket: FakeBucket) -> None:
        super().__init__(name, b"", bucket.account_id, bucket.region_name, bucket_name=bucket.name, version_id="null")
        found = path.stat()
        self.path = path
        self.contentsize = found.st_size
        self.stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        self.last_modified = datetime.fromtimestamp(found.st_mtime, UTC).replace(tzinfo=None)
        self._etag = f"{found.st_mtime_ns:032x}-1"

    @property
    def value(self) -> Any:
        with self.path.open("rb") as file:
            return Stored(file.fileno(), 0, self.contentsize)

    @value.setter
    def value(self, new: Any) -> None:  # the constructor's, which has nothing to say here
        self.contentsize = len(new)


class FolderBucket:
    """One folder and the bucket of moto's that it stands as."""

    def __init__(self, name: str, folder: Path, account: str, region: str) -> None:
        self.folder = folder
        self.changing = threading.RLock()
        self._bucket: FakeBucket = s3_backends[account]["aws"].create_bucket(name, region)

    def read(self) -> None:
        """Make the bucket agree with the folder."""
        with self.changing:
            files = {path.relative_to(self.folder).as_posix(): path for path in _files(self.folder)}
            for name in [name for name in self._bucket.keys if name not in files]:
                self._bucket.keys.pop(name)
            for name, path in files.items():
                held = self._bucket.keys.get(name)
                if not isinstance(held, FileKey) or held.stamp != _stamp(path):
                    self._bucket.keys.setlist(name, [FileKey(path, name, self._bucket)])

    def write(self, before: Mapping[str, Any]) -> None:
        """Make the folder agree with the bucket, which had the objects ``before``."""
        for name in before.keys() - self._bucket.keys.keys():
            (self.folder / name).unlink(missing_ok=True)
        for name in list(self._bucket.keys):
            key = self._bucket.keys[name]
            if not isinstance(key, FileKey):
                path = self.folder / name
                _write(key.value, path)
                kept = FileKey(path, name, self._bucket)
                kept.set_metadata(dict(key.metadata))
                self._bucket.keys.setlist(name, [kept])

    def names(self) -> dict[str, Any]:
        return dict.fromkeys(self._bucket.keys)


class Folders:
    """The WSGI application: ``inner`` is moto's."""

    def __init__(self, inner: Application, buckets: Mapping[str, FolderBucket]) -> None:
        self._inner = inner
        self._buckets = buckets

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        name, _, key = unquote(environ.get("RAW_URI", environ["PATH_INFO"]).split("?")[0]).lstrip("/").partition("/")
        bucket = self._buckets.get(name)
        if bucket is None:
            return self._inner(environ, start_response)
        bucket.read()
        if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return self._inner(environ, start_response)
        if fault := _unfit(key):
            start_response("400 Bad Request", [("Content-Type", "application/xml")])
            return [_REFUSED % fault.encode()]
        with bucket.changing:
            before = bucket.names()
            reply = list(self._inner(environ, start_response))
            bucket.write(before)
        return reply


def _unfit(key: str) -> str:
    """Why the key cannot be a file of the folder, or nothing."""
    parts = key.split("/")
    if key.endswith("/") or any(part in (".", "..") for part in parts) or "" in parts[:-1] or "\0" in key:
        return "This bucket is a local folder, and the key is no name of a file in it"
    return ""


def _files(folder: Path) -> Iterable[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        yield from (Path(root) / name for name in names if not name.startswith(".") and (Path(root) / name).is_file())


def _stamp(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _write(value: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}")  # hidden: no object until it is whole
    try:
        with temporary.open("xb") as file:
            for chunk in value if isinstance(value, Stored) else (value,):
                file.write(chunk)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
