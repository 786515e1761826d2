"""Archives uploaded to S3: several at a time, and of each only what no other archive in S3 has.

The first archive of those that have much in common is sent; the others are made from it in S3 (assembly.py). What is
complete stays, whatever happens to the rest, so the same command goes on where an interrupted one has stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from triton_ensembles.archive.gzip_members import gzip_members
from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.assembly import Assembly
from triton_ensembles.deploy.aws import Aws, aws_errors, error_code, error_message, is_missing
from triton_ensembles.deploy.bucket import S3Prefix, ensure_bucket
from triton_ensembles.deploy.multipart import encoded
from triton_ensembles.deploy.pieces import Copy, Piece, Shared, sent
from triton_ensembles.deploy.rollback import Progress
from triton_ensembles.deploy.sending import send
from triton_ensembles.deploy.stored import metadata_of, unfinished, uploaded_etag
from triton_ensembles.deploy.transfer import Meter
from triton_ensembles.errors import EnsembleError

AT_ONCE = 8  # archives, and parts of them; botocore keeps ten connections
_REPORT_SECONDS = 2.0
_MUCH = 1 << 20  # bytes that an archive sends beside what is copied
_CHANGED = ("PreconditionFailed", "412", "NoSuchKey", "404", "InvalidRange")


@dataclass(frozen=True)
class Planned:
    """An archive that is not in S3, the CRC-32 of it, and the pieces that it is made of."""

    archive: Archive
    crc: int
    pieces: Sequence[Piece]

    @property
    def is_copied(self) -> bool:
        return any(isinstance(each, Copy) for each in self.pieces)

    @property
    def sources(self) -> set[str]:
        """The keys of the archives that it is made from."""
        return {each.key for each in self.pieces if isinstance(each, Copy)}


@dataclass(frozen=True)
class Plan:
    """What is to be done: ``etags`` of the archives that are in S3 by their keys, and what is not there."""

    etags: dict[str, str]
    missing: Sequence[Planned]

    @property
    def bytes_to_send(self) -> int:
        return sum(sent(each.pieces) for each in self.missing)


@dataclass(frozen=True)
class Uploaded:
    """What a run has done: archives, and bytes that it has sent and had copied."""

    archives: int
    sent: int
    copied: int


def plan_upload(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> Plan:
    """Find out which of the archives are in S3, and what has to be sent of the others.

    Raises:
        EnsembleError: a key holds another file, or S3's reason.
    """
    chosen = list({each.key: each for each in archives}.values())
    etags: dict[str, str] = {}
    missing: list[Planned] = []
    shared = Shared()
    with aws_errors(f"look for archives in {place.url}"), ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda each: uploaded_etag(aws, place, each), chosen))
    if None not in found:
        for each in chosen:
            progress(f"{place.url}{each.key}  already uploaded")
        return Plan({each.key: etag for each, etag in zip(chosen, found, strict=True) if etag}, ())
    with ThreadPoolExecutor(2) as pool:
        looked = pool.map(lambda each: gzip_members(each.path), chosen)
        for archive, etag, members in zip(chosen, found, looked, strict=True):
            if etag is None:
                missing.append(Planned(archive, members.crc, shared.pieces(archive, members)))
            else:
                etags[archive.key] = etag
                progress(f"{place.url}{archive.key}  already uploaded")
            shared.add(archive, members)
    copied = [sent(each.pieces) for each in missing if each.is_copied]
    if sum(copied) > _MUCH * len(copied):
        progress(
            f"note: {len(copied)} archives that share much with others send {sum(copied) / 1e6:.1f} MB, which is "
            "theirs alone or in pieces of less than 5 MiB; clone --common-environments joins environments of clones"
        )
    return Plan(etags, missing)


def upload_archives(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> Uploaded:
    """Upload the archives that are not there yet.

    What is complete stays in S3 after a failure or Ctrl-C, and so do the parts that were sent of an archive of more
    than 20 MiB: the same call goes on there. A bucket that this call has created is deleted if nothing is in it.

    Raises:
        EnsembleError: a key holds another file, or S3's reason.
    """
    plan = plan_upload(aws, place, archives, progress)
    if not plan.missing:
        return Uploaded(0, 0, 0)
    undo: list[Callable[[], object]] = []
    with aws_errors(f"upload to {place.url}"):
        run = _Run(aws, place, plan, progress)
        try:
            ensure_bucket(aws, place.bucket, progress, lambda _, delete: undo.append(delete))
            run.run()
        except BaseException:
            if undo and not run.left_anything():
                progress(f"rolling back: deleting the bucket {place.bucket}")
                undo[0]()
            else:
                progress("what is complete stays in S3, and parts of the rest: the same command goes on from there")
            raise
    return Uploaded(len(plan.missing), run.meter.sent, run.meter.copied)


class _Run:
    """One run of an upload."""

    def __init__(self, aws: Aws, place: S3Prefix, plan: Plan, progress: Progress) -> None:
        self.meter = Meter()
        self._aws, self._place, self._plan, self._progress = aws, place, plan, progress
        self._etags: dict[str, Future[str]] = {}
        self._refused = False  # UploadPartCopy

    def run(self) -> None:
        with ThreadPoolExecutor(AT_ONCE) as parts, ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                for each in self._plan.missing:  # those that others are made from come first
                    self._etags[each.archive.key] = pool.submit(self._upload, each, parts)
                self._wait()
            except BaseException:
                self.meter.stopping.set()
                for future in self._etags.values():
                    future.cancel()
                raise

    def left_anything(self) -> bool:
        """Whether anything of this run is in S3."""
        try:
            return bool(
                self._aws.s3.list_objects_v2(Bucket=self._place.bucket, MaxKeys=1).get("KeyCount")
                or unfinished(self._aws, self._place, "")
            )
        except (ClientError, BotoCoreError):
            return True

    def _wait(self) -> None:
        waiting = set(self._etags.values())
        total, reported = self._plan.bytes_to_send, time.monotonic()
        while waiting:
            ended, waiting = wait(waiting, _REPORT_SECONDS, FIRST_COMPLETED)
            for each in ended:
                each.result()
            if waiting and time.monotonic() - reported >= _REPORT_SECONDS:
                reported = time.monotonic()
                complete = len(self._etags) - len(waiting)
                self._progress(
                    f"sent {self.meter.sent / 1e6:.1f} of {max(total, self.meter.sent) / 1e6:.1f} MB, "
                    f"{complete} of {len(self._etags)} archives complete"
                )

    def _upload(self, planned: Planned, parts: Executor) -> str:
        """Upload one archive, and return its ETag."""
        archive = planned.archive
        more = {"Metadata": metadata_of(archive), "ContentType": "application/gzip"}
        if not self._made_from_others(planned, more):
            try:
                send(self._aws, self._place, archive, planned.crc, parts, self.meter, **more)
            except ClientError as error:
                # Another run has completed the upload that both were filling.
                if error_code(error) != "NoSuchUpload" or uploaded_etag(self._aws, self._place, archive) is None:
                    raise
        etag = uploaded_etag(self._aws, self._place, archive)
        if etag is None:
            raise EnsembleError(f"{archive.key} is not in {self._place.url} after its upload", cure="upload again")
        self._progress(f"{self._place.url}{archive.key}  uploaded, {archive.size / 1e6:.1f} MB")
        return etag

    def _made_from_others(self, planned: Planned, more: dict[str, Any]) -> bool:
        """Make the archive from parts of others. False where it is to be sent as a whole, which is said."""
        archive = planned.archive
        if not planned.is_copied or self._refused:
            return False
        etags = self._plan.etags | {
            key: self._etags[key].result() for key in planned.sources if key not in self._plan.etags
        }
        try:
            Assembly(self._aws.s3, self._place, archive, etags, self.meter).make(planned.pieces, planned.crc, **more)
            if not (fault := self._fault_of(planned)):
                return True
            self._progress(f"!!! {archive.key}: {fault}; {archive.size / 1e6:.1f} MB are sent")
        except ClientError as error:
            code, why = error_code(error), f"{error_code(error)}: {error_message(error)}"
            size = f"{archive.size / 1e6:.1f} MB"
            if code in _CHANGED or is_missing(error):
                self._progress(f"!!! {archive.key}: what it shares has changed in S3 ({why}); {size} are sent")
            else:
                self._refused = self._refused or error.operation_name == "UploadPartCopy"
                self._progress(f"!!! {archive.key}: S3 does not copy what it shares ({why}); {size} are sent")
        return False

    def _fault_of(self, planned: Planned) -> str:
        """Why what S3 has made may not be the archive's file: it is deleted then. "" where its CRC-32 is the same."""
        key = self._place.folder + planned.archive.key
        found = self._aws.s3.head_object(Bucket=self._place.bucket, Key=key, ChecksumMode="ENABLED")
        crc = found.get("ChecksumCRC32")
        if crc == encoded(planned.crc) and found["ContentLength"] == planned.archive.size:
            return ""
        self._aws.s3.delete_object(Bucket=self._place.bucket, Key=key)
        if crc is None:
            self._refused = True
            return "S3 computes no checksum of what it copies, so nothing shows whether that is whole"
        return "S3 has made something else of its parts"
