"""Multipart uploads of S3 whose parts come from a file or from other objects, and their completion.

boto3's transfer manager sends whole archives; it cannot copy parts of several objects into one.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.byte_ranges import LEAST_PART, ByteRange, FileRange


class Stopped(Exception):  # noqa: N818
    """The upload is being stopped: nothing more is sent."""


class Meter:
    """Counts the bytes that have been sent and copied; stops those who send."""

    def __init__(self) -> None:
        self.sent = 0
        self.copied = 0
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    def note(self, sent: int = 0, *, copied: int = 0) -> None:
        with self._lock:
            self.sent += sent
            self.copied += copied

    def check(self) -> None:
        """Raises Stopped when nothing more is to be sent."""
        if self.stopping.is_set():
            raise Stopped("the upload was stopped")


LARGEST_COPY = 5 << 30  # bytes: S3's limit of one UploadPartCopy
MOST_PARTS = 10_000
PART = 16 << 20  # bytes: what a part that is sent usually has
# The checksum of the whole object, which S3 computes from those of its parts, also of copied ones.
_CHECKSUM = {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}


class Multipart:
    """One multipart upload. ``archive`` is where the parts that are sent are read from."""

    def __init__(self, s3: Any, bucket: str, key: str, archive: Archive, meter: Meter, **more: Any) -> None:
        """``more``: of CreateMultipartUpload, such as Metadata."""
        self._s3, self._bucket, self._archive, self._meter = s3, bucket, archive, meter
        answer = s3.create_multipart_upload(Bucket=bucket, Key=key, **_CHECKSUM, **more)
        self._where = {"Bucket": bucket, "Key": key, "UploadId": answer["UploadId"]}

    def add(self, number: int, part: ByteRange) -> dict[str, Any]:
        """Send or copy a part, and return what ``complete`` needs of it."""
        self._meter.check()
        if isinstance(part, FileRange):
            with self._archive.path.open("rb") as file:
                file.seek(part.start)
                body = file.read(part.length)
            answer = self._s3.upload_part(**self._where, PartNumber=number, Body=body, ChecksumAlgorithm="CRC32")
            self._meter.note(part.length)
        else:
            answer = self._s3.upload_part_copy(
                **self._where,
                PartNumber=number,
                CopySource={"Bucket": self._bucket, "Key": part.key},
                CopySourceRange=f"bytes={part.start}-{part.start + part.length - 1}",
                CopySourceIfMatch=part.etag,
            )["CopyPartResult"]
            self._meter.note(copied=part.length)
        return {"PartNumber": number} | {name: answer[name] for name in ("ETag", "ChecksumCRC32") if name in answer}

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


def encoded(crc: int) -> str:
    """A CRC-32 as S3 writes it."""
    return base64.b64encode(crc.to_bytes(4, "big")).decode()


def parts_of(part: ByteRange) -> list[ByteRange]:
    """The range in parts that S3 takes: copies of at most 5 GiB each.

    Those of a file all have one size, but the last may have up to 5 MiB more: other parts may follow.
    """
    if isinstance(part, FileRange):
        size = max(PART, -(-part.length // (MOST_PARTS // 2)))
        count = max(1, part.length // size + (part.length % size >= LEAST_PART))
        bounds = [*(number * size for number in range(count)), part.length]
    else:
        count = -(-part.length // LARGEST_COPY)
        bounds = [part.length * number // count for number in range(count + 1)]
    return [replace(part, start=part.start + start, length=end - start) for start, end in pairwise(bounds)]
