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
_Key: Any = models.FakeKey  # install() replaces it with DiskKey
_Multipart: Any = models.FakeMultipart


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


class DiskKey(_Key):  # type: ignore[misc]
    """moto's object with ``value`` as a :class:`Stored` where it is large."""

    @property
    def value(self) -> Any:
        if self.contentsize <= _IN_MEMORY:
            return _Key.value.fget(self)
        with self.lock:
            self._value_buffer.flush()
            return Stored(self._value_buffer.fileno(), 0, self.contentsize)

    @value.setter
    def value(self, new: Any) -> None:
        if not isinstance(new, Stored):
            _Key.value.fset(self, new)
            return
        self._value_buffer.seek(0)
        self._value_buffer.truncate()
        for chunk in new:
            self._value_buffer.write(chunk)
        self.contentsize = len(new)


class DiskMultipart(_Multipart):  # type: ignore[misc]
    """moto's multipart upload, assembled on disk."""

    def complete(self, body: Iterator[tuple[int, str]]) -> tuple[Any, str, tuple[str, str, int] | None]:
        """The value, its ETag (MD5 of the parts' MD5s, and their number), and its checksum's type, text and parts."""
        listed = list(body)
        numbers = [number for number, _ in listed]
        if numbers != sorted(set(numbers)):
            raise InvalidPartOrder
        parts = [self._checked(number, etag) for number, etag in listed]
        if not parts:
            raise MalformedXML
        if any(part.contentsize < models.S3_UPLOAD_PART_MIN_SIZE for part in parts[:-1]):
            raise EntityTooSmall
        whole = DiskKey(self.key_name, b"", self.account_id, self.region_name, max_buffer_size=1)
        for part in parts:
            value = part.value
            for chunk in value if isinstance(value, Stored) else (value,):
                whole._value_buffer.write(chunk)
            whole.contentsize += len(value)
        digests = b"".join(bytes.fromhex(part.etag.strip('"')) for part in parts)
        etag = f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"
        value, checksum = whole.value, self._checksum(parts, whole)
        for key in (*parts, whole):
            key.dispose()  # the value's own descriptor keeps the file
        return value, etag, checksum

    def _checked(self, number: int, etag: str) -> DiskKey:
        part: DiskKey | None = self.parts.get(number)
        if part is None or part.etag.strip('"') != etag.strip('"'):
            raise InvalidPart
        return part

    def _checksum(self, parts: list[DiskKey], whole: DiskKey) -> tuple[str, str, int] | None:
        algorithm = self.metadata.get("x-amz-checksum-algorithm")
        if algorithm not in checksums.CHECKSUMS:
            return None
        if self.metadata.get("x-amz-checksum-type") == "FULL_OBJECT" or algorithm == "CRC64NVME":
            return "FULL_OBJECT", checksums.compute_checksum(whole.value, algorithm).decode(), 1
        digests = b"".join(checksums.compute_checksum(part.value, algorithm, False) for part in parts)
        return "COMPOSITE", checksums.compute_checksum(digests, algorithm).decode(), len(parts)


def install() -> None:
    """Make moto use these classes in this process."""
    models.FakeKey, models.FakeMultipart = DiskKey, DiskMultipart
    models.compute_checksum = responses.compute_checksum = checksums.compute_checksum
