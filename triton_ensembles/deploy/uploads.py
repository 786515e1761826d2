"""Archives uploaded to S3: several at a time, and of each only what no other archive in S3 has.

The first archive of those that have much in common is sent; the others are made from it in S3 (part_copy.py). What is
complete stays, whatever happens to the rest, so the same command continues with the archives that are missing. Within
one archive nothing is resumed: boto3's transfer manager sends it, and deletes the parts of what it cannot complete.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from boto3.s3.transfer import ProgressCallbackInvoker, TransferConfig, create_transfer_manager
from botocore.exceptions import BotoCoreError, ClientError

from triton_ensembles.archive.gzip_members import gzip_members
from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws, aws_errors, error_code, error_message, is_missing
from triton_ensembles.deploy.bucket import S3Prefix, ensure_bucket
from triton_ensembles.deploy.byte_ranges import PART, ByteRange, ObjectRange, SharedMembers, bytes_sent
from triton_ensembles.deploy.part_copy import Meter, PartCopy, encoded
from triton_ensembles.deploy.stored import metadata_of, uploaded_etag
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress

AT_ONCE = 8  # archives, and parts of them; botocore keeps ten connections
# "classic": what awscrt would send on some machines instead reports no progress of parts.
_TRANSFERS = TransferConfig(PART, AT_ONCE, PART, preferred_transfer_client="classic")
_REPORT_SECONDS = 2.0
_MUCH = 1 << 20  # bytes that an archive sends beside what is copied
_CHANGED = ("PreconditionFailed", "412", "NoSuchKey", "404", "InvalidRange")


@dataclass(frozen=True)
class MissingArchive:
    """An archive that is not in S3, the CRC-32 of it, and the byte ranges that it is made of."""

    archive: Archive
    crc: int
    ranges: Sequence[ByteRange]

    @property
    def sources(self) -> set[str]:
        """The keys of the archives that parts of it are copied from."""
        return {part.key for part in self.ranges if isinstance(part, ObjectRange)}


@dataclass(frozen=True)
class UploadList:
    """The ``etags`` of the archives that are in S3, by their keys, and the archives that are not."""

    etags: dict[str, str]
    missing: Sequence[MissingArchive]

    @property
    def bytes_to_send(self) -> int:
        return sum(bytes_sent(archive.ranges) for archive in self.missing)


def list_uploads(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> UploadList:
    """Find out which of the archives are in S3, and what has to be sent of the others.
    Raises :class:`EnsembleError`: a key holds another file, or S3's reason."""
    unique = list({archive.key: archive for archive in archives}.values())
    with aws_errors(f"look for archives in {place.url}"), ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda archive: uploaded_etag(aws, place, archive), unique))
    etags = {archive.key: etag for archive, etag in zip(unique, answers, strict=True) if etag}
    for key in etags:
        progress(f"{place.url}{key}  already uploaded")
    if len(etags) == len(unique):
        return UploadList(etags, ())
    missing: list[MissingArchive] = []
    shared = SharedMembers()
    with ThreadPoolExecutor(2) as pool:
        contents = pool.map(lambda archive: gzip_members(archive.path), unique)
        for archive, (members, crc) in zip(unique, contents, strict=True):
            if archive.key not in etags:
                missing.append(MissingArchive(archive, crc, shared.ranges(archive, members)))
            shared.add(archive, members)
    copied = [bytes_sent(archive.ranges) for archive in missing if archive.sources]
    if sum(copied) > _MUCH * len(copied):
        size = f"{sum(copied) / 1e6:.1f} MB, which is theirs alone or in parts of less than 5 MiB"
        cure = "clone --common-environments joins environments of clones"
        progress(f"note: {len(copied)} archives that share much with others send {size}; {cure}")
    return UploadList(etags, missing)


def upload_archives(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> tuple[int, int]:
    """Upload the archives that are not there yet. Returns how many these were, and the bytes that were sent.

    What is complete stays in S3 after a failure or Ctrl-C. A bucket that this call has created is deleted if nothing is
    in it.

    Raises:
        EnsembleError: a key holds another file, or S3's reason.
    """
    uploads = list_uploads(aws, place, archives, progress)
    if not uploads.missing:
        return 0, 0
    undo: list[Callable[[], object]] = []
    with aws_errors(f"upload to {place.url}"):
        run = _Run(aws, place, uploads, progress)
        try:
            ensure_bucket(aws, place.bucket, progress, undo.append)
            run.run()
        except BaseException:
            if undo and not run.left_anything():
                progress(f"rolling back: deleting the bucket {place.bucket}")
                undo[0]()
            else:
                progress("the archives that are complete stay in S3: the same command uploads the others")
            raise
    return len(uploads.missing), run.meter.sent


class _Run:
    """Runs an upload."""

    def __init__(self, aws: Aws, place: S3Prefix, uploads: UploadList, progress: Progress) -> None:
        self.meter = Meter()
        self._aws, self._place, self._uploads, self._progress = aws, place, uploads, progress
        self._etags: dict[str, Future[str]] = {}
        self._refused = False  # UploadPartCopy

    def run(self) -> None:
        manager = create_transfer_manager(self._aws.s3, _TRANSFERS)
        with ThreadPoolExecutor(AT_ONCE) as pool, manager:
            try:
                for missing in self._uploads.missing:  # those that others are made from come first
                    self._etags[missing.archive.key] = pool.submit(self._upload, missing, manager)
                self._wait()
            except BaseException:
                self.meter.stopping.set()
                for future in self._etags.values():
                    future.cancel()
                raise

    def left_anything(self) -> bool:
        """Return whether anything of this run is in S3."""
        try:
            return bool(self._aws.s3.list_objects_v2(Bucket=self._place.bucket, MaxKeys=1).get("KeyCount"))
        except (ClientError, BotoCoreError):
            return True

    def _wait(self) -> None:
        waiting = set(self._etags.values())
        total, reported = self._uploads.bytes_to_send, time.monotonic()
        while waiting:
            ended, waiting = wait(waiting, _REPORT_SECONDS, FIRST_COMPLETED)
            for upload in ended:
                upload.result()
            if waiting and time.monotonic() - reported >= _REPORT_SECONDS:
                reported = time.monotonic()
                complete = len(self._etags) - len(waiting)
                sent = f"{self.meter.sent / 1e6:.1f} of {max(total, self.meter.sent) / 1e6:.1f} MB"
                self._progress(f"sent {sent}, {complete} of {len(self._etags)} archives complete")

    def _upload(self, missing: MissingArchive, manager: Any) -> str:
        """Upload one archive, and return its ETag."""
        archive = missing.archive
        more = {"Metadata": metadata_of(archive), "ContentType": "application/gzip"}
        if not self._made_from_others(missing, more):
            key, checksum = self._place.folder + archive.key, {"ChecksumCRC32": encoded(missing.crc)}
            count = ProgressCallbackInvoker(self.meter.note)
            manager.upload(str(archive.path), self._place.bucket, key, more | checksum, [count]).result()
        etag = uploaded_etag(self._aws, self._place, archive)
        if etag is None:
            raise EnsembleError(f"{archive.key} is not in {self._place.url} after its upload", cure="upload again")
        self._progress(f"{self._place.url}{archive.key}  uploaded, {archive.size / 1e6:.1f} MB")
        return etag

    def _made_from_others(self, missing: MissingArchive, more: dict[str, Any]) -> bool:
        """Make the archive from parts of others. False where it is to be sent as a whole, which is said."""
        archive = missing.archive
        if not missing.sources or self._refused:
            return False
        etags = self._uploads.etags | {
            key: self._etags[key].result() for key in missing.sources if key not in self._uploads.etags
        }
        try:
            PartCopy(self._aws.s3, self._place, archive, etags, self.meter).make(missing.ranges, missing.crc, **more)
            if not (fault := self._fault_of(missing)):
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

    def _fault_of(self, missing: MissingArchive) -> str:
        """Why what S3 has made may not be the archive's file: it is deleted then. "" where its CRC-32 is the same."""
        key = self._place.folder + missing.archive.key
        head = self._aws.s3.head_object(Bucket=self._place.bucket, Key=key, ChecksumMode="ENABLED")
        crc = head.get("ChecksumCRC32")
        if crc == encoded(missing.crc) and head["ContentLength"] == missing.archive.size:
            return ""
        self._aws.s3.delete_object(Bucket=self._place.bucket, Key=key)
        if crc is None:
            self._refused = True
            return "S3 computes no checksum of what it copies, so nothing shows whether that is whole"
        return "S3 has made something else of its parts"
