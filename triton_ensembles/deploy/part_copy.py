"""An archive made in S3 by UploadPartCopy from parts of others, so that only what it alone has is sent.

A part of a multipart upload has at least 5 MiB, except the last. So what is shorter can only be put at the end of an
object. It gets into the middle in steps, by objects that are deleted afterwards: the end of the part before it and the
short range become an object, which is long enough to be copied as a part. A short range at the very beginning is put
after 5 MiB of anything, and copied from there on:

    first:  anything (5 MiB) + u        second: first + the next 5 MiB        the archive: second from u on + the rest
"""

from __future__ import annotations

import base64
import threading
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.byte_ranges import LEAST_PART, PART, ByteRange, FileRange, ObjectRange
from triton_ensembles.deploy.keys import PARTS

_LARGEST_COPY = 5 << 30  # bytes: S3's limit of one UploadPartCopy
_MOST_PARTS = 10_000
# The checksum of the whole object, which S3 computes from those of its parts, also of copied ones.
_CHECKSUM = {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}


class Meter:
    """Counts the bytes that have been sent. When ``stopping`` is set, nothing more is to be sent."""

    def __init__(self) -> None:
        self.sent = 0
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    def note(self, sent: int) -> None:
        with self._lock:
            self.sent += sent


class PartCopy:
    """Makes one archive. boto3's transfer manager cannot copy parts of several objects into one.

    Args:
        etags: of the archives that ranges are copied from, by their keys relative to ``place``.
    """

    def __init__(self, s3: Any, place: S3Prefix, archive: Archive, etags: Mapping[str, str], meter: Meter) -> None:
        self._s3, self._place, self._archive, self._meter = s3, place, archive, meter
        self._etags = etags
        self._scratch = f"{place.folder}{PARTS}{archive.key}/{uuid.uuid4().hex[:8]}-"
        self._steps: list[tuple[str, str | None]] = []  # keys and versions
        self._parts: list[ByteRange] = []
        self._ahead = 0  # bytes of anything at the beginning of the first part

    def make(self, ranges: Sequence[ByteRange], crc: int, **more: Any) -> None:
        """Make the archive of these ranges, which begin at its beginning and end at its end.

        Args:
            crc: CRC-32 of the archive, with which S3 compares what it has made.
            more: of CreateMultipartUpload.

        Raises:
            ClientError: S3's reason, such as PreconditionFailed when an archive that is copied from has changed.
        """
        try:
            parts = [self._located(part) for part in ranges]
            for number, part in enumerate(parts):
                if part.length >= LEAST_PART:
                    self._take(part)
                elif number == len(parts) - 1:
                    self._parts.append(part)
                else:
                    self._take_short(part, parts)
            self._compose(self._place.folder + self._archive.key, self._parts, crc, **more)
        finally:
            self._delete()

    def _take(self, part: ByteRange) -> None:
        """A long range. The first of them makes what comes before it long enough."""
        if self._ahead:
            before = self._parts.pop()
            taken = part.length if part.length < 2 * LEAST_PART else LEAST_PART
            step = self._step(before, replace(part, length=taken))
            self._parts.append(replace(step, start=self._ahead, length=step.length - self._ahead))
            self._ahead = 0
            part = replace(part, start=part.start + taken, length=part.length - taken)
        if part.length:
            self._parts.append(part)

    def _take_short(self, part: ByteRange, parts: Sequence[ByteRange]) -> None:
        """A short range, which is put at the end of the one before it."""
        if not self._parts:
            long = next(long for long in parts if isinstance(long, ObjectRange) and long.length >= LEAST_PART)
            self._parts.append(replace(long, length=LEAST_PART))
            self._ahead = LEAST_PART
        before = self._parts.pop()
        if before.length >= 2 * LEAST_PART and not self._ahead:
            kept = before.length - LEAST_PART
            self._parts.append(replace(before, length=kept))
            before = replace(before, start=before.start + kept, length=LEAST_PART)
        self._parts.append(self._step(before, part))

    def _located(self, part: ByteRange) -> ByteRange:
        if isinstance(part, FileRange):
            return part
        return replace(part, key=self._place.folder + part.key, etag=self._etags[part.key])

    def _step(self, *parts: ByteRange) -> ObjectRange:
        key = f"{self._scratch}{len(self._steps)}"
        self._steps.append((key, None))
        etag, version = self._compose(key, parts)
        self._steps[-1] = key, version
        return ObjectRange(key, 0, sum(part.length for part in parts), etag)

    def _compose(
        self, key: str, ranges: Sequence[ByteRange], crc: int | None = None, **more: Any
    ) -> tuple[str, str | None]:
        """Make an object of these ranges, which S3 compares with ``crc``, the CRC-32 of the whole.

        Returns its ETag, and its version if the bucket keeps versions. After an error, S3 deletes the parts.
        """
        answer = self._s3.create_multipart_upload(Bucket=self._place.bucket, Key=key, **_CHECKSUM, **more)
        upload = {"Bucket": self._place.bucket, "Key": key, "UploadId": answer["UploadId"]}
        try:
            parts = [part for whole in ranges for part in _parts_of(whole)]
            added = [self._add(upload, number, part) for number, part in enumerate(parts, 1)]
            checksum = {} if crc is None else {"ChecksumCRC32": encoded(crc), "ChecksumType": "FULL_OBJECT"}
            answer = self._s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": added}, **checksum)
        except BaseException:
            with suppress(ClientError):
                self._s3.abort_multipart_upload(**upload)
            raise
        return answer["ETag"], answer.get("VersionId")

    def _add(self, upload: Mapping[str, str], number: int, part: ByteRange) -> dict[str, Any]:
        """Send or copy a part, and return what CompleteMultipartUpload needs of it."""
        if self._meter.stopping.is_set():
            raise _StoppedError("the upload was stopped")
        if isinstance(part, FileRange):
            with self._archive.path.open("rb") as file:
                file.seek(part.start)
                body = file.read(part.length)
            answer = self._s3.upload_part(**upload, PartNumber=number, Body=body, ChecksumAlgorithm="CRC32")
            self._meter.note(part.length)
        else:
            answer = self._s3.upload_part_copy(
                **upload,
                PartNumber=number,
                CopySource={"Bucket": self._place.bucket, "Key": part.key},
                CopySourceRange=f"bytes={part.start}-{part.start + part.length - 1}",
                CopySourceIfMatch=part.etag,
            )["CopyPartResult"]
        return {"PartNumber": number} | {name: answer[name] for name in ("ETag", "ChecksumCRC32") if name in answer}

    def _delete(self) -> None:
        """Delete the objects of the steps; in a bucket that keeps versions, for good."""
        for key, version in self._steps:
            with suppress(ClientError):
                more = {"VersionId": version} if version else {}
                self._s3.delete_object(Bucket=self._place.bucket, Key=key, **more)


class _StoppedError(Exception):
    """The upload is being stopped: nothing more is sent."""


def encoded(crc: int) -> str:
    """A CRC-32 as S3 writes it."""
    return base64.b64encode(crc.to_bytes(4, "big")).decode()


def _parts_of(part: ByteRange) -> list[ByteRange]:
    """The range in parts that S3 takes: copies of at most 5 GiB each.

    Those of a file all have one size, but the last may have up to 5 MiB more: other parts may follow.
    """
    if isinstance(part, FileRange):
        size = max(PART, -(-part.length // (_MOST_PARTS // 2)))
        count = max(1, part.length // size + (part.length % size >= LEAST_PART))
        bounds = [*(number * size for number in range(count)), part.length]
    else:
        count = -(-part.length // _LARGEST_COPY)
        bounds = [part.length * number // count for number in range(count + 1)]
    return [replace(part, start=part.start + start, length=end - start) for start, end in pairwise(bounds)]
