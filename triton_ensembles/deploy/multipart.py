"""Multipart uploads of S3: begun, filled from a file or from other objects, and completed."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.pieces import LEAST_PART
from triton_ensembles.deploy.transfer import Meter, Range

LARGEST_COPY = 5 << 30  # bytes: S3's limit of one UploadPartCopy
MOST_PARTS = 10_000
PART = 16 << 20  # bytes: what a part that is sent usually has; S3 keeps the parts of an interrupted upload
# The checksum of the whole object, which S3 computes from those of its parts, copied ones too.
CHECKSUM = {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}


@dataclass(frozen=True)
class FromFile:
    """A part that is sent: bytes of the archive's file."""

    start: int
    length: int


@dataclass(frozen=True)
class FromObject:
    """A part that S3 copies: bytes of another object of the bucket, as long as that has this ETag."""

    key: str
    etag: str
    start: int
    length: int


Part = FromFile | FromObject


class Multipart:
    """One multipart upload. ``archive`` is where the parts that are sent are read from."""

    def __init__(self, s3: Any, bucket: str, key: str, upload_id: str, archive: Archive, meter: Meter) -> None:
        self._s3, self._archive, self._meter = s3, archive, meter
        self._where = {"Bucket": bucket, "Key": key, "UploadId": upload_id}
        self._bucket, self._key = bucket, key

    @classmethod
    def begin(cls, s3: Any, bucket: str, key: str, archive: Archive, meter: Meter, **more: Any) -> Multipart:
        """``more``: of CreateMultipartUpload, such as Metadata."""
        answer = s3.create_multipart_upload(Bucket=bucket, Key=key, **CHECKSUM, **more)
        return cls(s3, bucket, key, answer["UploadId"], archive, meter)

    def add(self, number: int, part: Part) -> dict[str, Any]:
        """Send or copy a part, and return what ``complete`` needs of it."""
        self._meter.check()
        if isinstance(part, FromFile):
            with Range(self._archive.path, part.start, part.length, self._meter) as body:
                found = self._s3.upload_part(
                    **self._where, PartNumber=number, Body=body, ContentLength=part.length, ChecksumAlgorithm="CRC32"
                )
            self._meter.note(sent=part.length)
        else:
            found = self._s3.upload_part_copy(
                **self._where,
                PartNumber=number,
                CopySource={"Bucket": self._bucket, "Key": part.key},
                CopySourceRange=f"bytes={part.start}-{part.start + part.length - 1}",
                CopySourceIfMatch=part.etag,
            )["CopyPartResult"]
            self._meter.note(copied=part.length)
        return numbered(number, found)

    def parts(self) -> dict[int, dict[str, Any]]:
        """Those that are there already, by their numbers."""
        pages = self._s3.get_paginator("list_parts").paginate(**self._where)
        return {each["PartNumber"]: each for page in pages for each in page.get("Parts", ())}

    def complete(self, parts: Sequence[dict[str, Any]], crc: int | None = None) -> tuple[str, str | None]:
        """Make the object, and return its ETag, and its version if the bucket keeps versions.

        S3 compares it with ``crc``, the CRC-32 of the whole.
        """
        more = {"ChecksumCRC32": encoded(crc), "ChecksumType": "FULL_OBJECT"} if crc is not None else {}
        answer = self._s3.complete_multipart_upload(**self._where, MultipartUpload={"Parts": list(parts)}, **more)
        return answer["ETag"], answer.get("VersionId")

    def abort(self) -> None:
        """Give up, and have S3 delete the parts."""
        with suppress(ClientError):
            self._s3.abort_multipart_upload(**self._where)


def numbered(number: int, found: dict[str, Any]) -> dict[str, Any]:
    """A part as CompleteMultipartUpload takes it."""
    return {"PartNumber": number} | {name: found[name] for name in ("ETag", "ChecksumCRC32") if name in found}


def encoded(crc: int) -> str:
    """A CRC-32 as S3 writes it."""
    return base64.b64encode(crc.to_bytes(4, "big")).decode()


def file_parts(start: int, length: int) -> list[FromFile]:
    """Parts of these bytes of a file. All have one size, but the last may have up to 5 MiB more: others may follow."""
    size = max(PART, -(-length // (MOST_PARTS // 2)))
    count = max(1, length // size + (length % size >= LEAST_PART))
    starts = [number * size for number in range(count)]
    stops = [*starts[1:], length]
    return [FromFile(start + at, stop - at) for at, stop in zip(starts, stops, strict=True)]


def object_parts(key: str, etag: str, start: int, length: int) -> list[FromObject]:
    """Parts of these bytes of an object, none of which is longer than S3 copies at a time."""
    count = -(-length // LARGEST_COPY)
    bounds = [start + length * number // count for number in range(count + 1)]
    return [FromObject(key, etag, at, end - at) for at, end in pairwise(bounds)]
