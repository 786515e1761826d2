"""An archive made in S3 from parts of others, so that only what it alone has is sent.

A part of a multipart upload has at least 5 MiB, except the last. So what is shorter can only be put at the end of an
object. It gets into the middle in steps, by objects that are deleted afterwards: the end of the part before it and the
short piece become an object, which is long enough to be copied as a part. A short piece at the very beginning is put
after 5 MiB of anything, and copied from there on:

    first:  anything (5 MiB) + u        second: first + the next 5 MiB        the archive: second from u on + the rest
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.multipart import FromFile, FromObject, Multipart, Part, file_parts, object_parts
from triton_ensembles.deploy.pieces import LEAST_PART, Copy, Piece
from triton_ensembles.deploy.transfer import Meter

PARTS = ".parts/"  # the folder of objects that are deleted when the archive is complete


class Assembly:
    """Makes one archive.

    Args:
        etags: of the archives that pieces are copied from, by their keys relative to ``place``.
    """

    def __init__(self, s3: Any, place: S3Prefix, archive: Archive, etags: Mapping[str, str], meter: Meter) -> None:
        self._s3, self._place, self._archive, self._meter = s3, place, archive, meter
        self._etags = etags
        self._scratch = f"{place.folder}{PARTS}{archive.key}/{uuid.uuid4().hex[:8]}-"
        self._made: list[tuple[str, str | None]] = []  # keys and versions
        self._parts: list[Part] = []
        self._ahead = 0  # bytes of anything at the beginning of the first part

    def make(self, pieces: Sequence[Piece], crc: int, **more: Any) -> None:
        """Make the archive of these pieces, which begin at its beginning and end at its end.

        Args:
            crc: CRC-32 of the archive, with which S3 compares what it has made.
            more: of CreateMultipartUpload.

        Raises:
            ClientError: S3's reason, such as PreconditionFailed when an archive that is copied from has changed.
        """
        try:
            for number, piece in enumerate(pieces):
                if piece.length >= LEAST_PART:
                    self._take(self._part(piece))
                elif number == len(pieces) - 1:
                    self._parts.append(self._part(piece))
                else:
                    self._take_short(self._part(piece), pieces)
            self._compose(self._place.folder + self._archive.key, self._parts, crc, **more)
        finally:
            self._delete()

    def _take(self, part: Part) -> None:
        """A long piece. The first of them makes what comes before it long enough."""
        if self._ahead:
            before = self._parts.pop()
            taken = part.length if part.length < 2 * LEAST_PART else LEAST_PART
            made = self._step(before, replace(part, length=taken))
            self._parts.append(replace(made, start=self._ahead, length=made.length - self._ahead))
            self._ahead = 0
            part = replace(part, start=part.start + taken, length=part.length - taken)
        if part.length:
            self._parts.append(part)

    def _take_short(self, part: Part, pieces: Sequence[Piece]) -> None:
        """A short piece, which is put at the end of the one before it."""
        if not self._parts:
            anything = next(each for each in pieces if isinstance(each, Copy) and each.length >= LEAST_PART)
            self._parts.append(replace(self._part(anything), length=LEAST_PART))
            self._ahead = LEAST_PART
        before = self._parts.pop()
        if before.length >= 2 * LEAST_PART and not self._ahead:
            kept = before.length - LEAST_PART
            self._parts.append(replace(before, length=kept))
            before = replace(before, start=before.start + kept, length=LEAST_PART)
        self._parts.append(self._step(before, part))

    def _part(self, piece: Piece) -> Part:
        if isinstance(piece, Copy):
            return FromObject(self._place.folder + piece.key, self._etags[piece.key], piece.start, piece.length)
        return FromFile(piece.start, piece.length)

    def _step(self, *parts: Part) -> FromObject:
        key = f"{self._scratch}{len(self._made)}"
        self._made.append((key, None))
        etag, version = self._compose(key, parts)
        self._made[-1] = key, version
        return FromObject(key, etag, 0, sum(each.length for each in parts))

    def _compose(self, key: str, parts: Sequence[Part], crc: int | None = None, **more: Any) -> tuple[str, str | None]:
        """An object of these parts. Its ETag, and its version if the bucket keeps versions."""
        upload = Multipart.begin(self._s3, self._place.bucket, key, self._archive, self._meter, **more)
        try:
            split = [each for part in parts for each in _split(part)]
            done = [upload.add(number, each) for number, each in enumerate(split, 1)]
            return upload.complete(done, crc)
        except BaseException:
            upload.abort()
            raise

    def _delete(self) -> None:
        """Delete the objects of the steps; in a bucket that keeps versions, for good."""
        for key, version in self._made:
            with suppress(ClientError):
                more = {"VersionId": version} if version else {}
                self._s3.delete_object(Bucket=self._place.bucket, Key=key, **more)


def _split(part: Part) -> Sequence[Part]:
    if isinstance(part, FromFile):
        return file_parts(part.start, part.length)
    return object_parts(part.key, part.etag, part.start, part.length)
