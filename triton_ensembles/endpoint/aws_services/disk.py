"""Keeps the bytes of moto's objects on disk instead of in memory.

moto keeps the value of a large object in a temporary file, but reads it whole for every request of any part of it, and
assembles a multipart upload in memory, several times over (measured with 5.2.5: 1.1 GB for an object of 300 MB).
Here a value is a view of the file, of which only what is sent is read, and parts are copied from file to file.
"""

from __future__ import annotations

import hashlib
import io
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from moto.s3 import models, responses
from moto.s3.exceptions import EntityTooSmall, InvalidPart, InvalidPartOrder, MalformedXML

from triton_ensembles.endpoint.aws_services import checksums

_CHUNK = 1 << 20
_IN_MEMORY = 64 * 1024  # smaller values are handled as bytes


class Stored:
    """A value, or a range of one, in a file that no longer changes. It has a length, slices and chunks."""

    def __init__(self, descriptor: int, start: int, stop: int) -> None:
        self._file = io.FileIO(os.dup(descriptor))  # so that the file may be closed and deleted
        self._start, self._stop = start, stop

    @classmethod
    def of(cls, chunks: Iterable[bytes | memoryview]) -> Stored:
        """The chunks in a new file without a name."""
        with tempfile.TemporaryFile() as file:
            size = sum(file.write(chunk) for chunk in chunks)
            file.flush()
            return cls(file.fileno(), 0, size)

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, part: slice) -> Stored:
        start, stop, _ = part.indices(len(self))
        return Stored(self._file.fileno(), self._start + start, self._start + max(start, stop))

    def __iter__(self) -> Iterator[bytes]:
        place = self._start
        while place < self._stop:
            chunk = os.pread(self._file.fileno(), min(_CHUNK, self._stop - place), place)
            if not chunk:
                raise OSError("the file is shorter than the object")
            place += len(chunk)
            yield chunk

    def mapped(self) -> mmap.mmap:
        """The whole file as an object with Python's buffer interface, not read into memory."""
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

    def viewed(self) -> bytes | mmap.mmap:
        """The whole file: mapped where it is large."""
        return self.mapped() if len(self) > _IN_MEMORY else b"".join(self)


def install() -> None:
    """Make moto keep values so, and assemble uploads on disk, in this process."""
    of_bytes = models.FakeKey.value

    def value(key: Any) -> Any:
        if key.contentsize <= _IN_MEMORY:
            return of_bytes.fget(key)
        with key.lock:
            key._value_buffer.flush()
            return Stored(key._value_buffer.fileno(), 0, key.contentsize)

    def set_value(key: Any, new: Any) -> None:
        of_bytes.fset(key, b"" if isinstance(new, Stored) else new)
        if isinstance(new, Stored):
            for chunk in new:
                key._value_buffer.write(chunk)
            key.contentsize = len(new)

    models.FakeKey.value = property(value, set_value)
    models.FakeMultipart.complete = _complete
    models.compute_checksum = responses.compute_checksum = checksums.compute_checksum


def _complete(upload: Any, body: Iterable[tuple[int, str]]) -> tuple[Any, str, tuple[str, str, int] | None]:
    """Return the value, its ETag (of the parts' MD5s, with their number), and its checksum's type, text and parts."""
    listed = list(body)
    numbers = [number for number, _ in listed]
    if numbers != sorted(set(numbers)):
        raise InvalidPartOrder
    parts = [_checked(upload, number, etag) for number, etag in listed]
    if not parts:
        raise MalformedXML
    if any(part.contentsize < models.S3_UPLOAD_PART_MIN_SIZE for part in parts[:-1]):
        raise EntityTooSmall
    values = [part.value for part in parts]
    whole = Stored.of(chunk for value in values for chunk in (value if isinstance(value, Stored) else (value,)))
    digests = b"".join(bytes.fromhex(part.etag.strip('"')) for part in parts)
    etag = f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"
    checksum = _checksum(upload.metadata, values, whole)
    for part in parts:
        part.dispose()
    return whole, etag, checksum


def _checked(upload: Any, number: int, etag: str) -> Any:
    part = upload.parts.get(number)
    if part is None or part.etag.strip('"') != etag.strip('"'):
        raise InvalidPart
    return part


def _checksum(metadata: Any, values: list[Any], whole: Stored) -> tuple[str, str, int] | None:
    algorithm = metadata.get("x-amz-checksum-algorithm")
    if algorithm not in checksums.CHECKSUMS:
        return None
    if metadata.get("x-amz-checksum-type") == "FULL_OBJECT":
        return "FULL_OBJECT", checksums.compute_checksum(whole.viewed(), algorithm).decode(), 1
    digests = b"".join(checksums.compute_checksum(value, algorithm, False) for value in values)
    return "COMPOSITE", checksums.compute_checksum(digests, algorithm).decode(), len(values)
