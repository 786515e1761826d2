"""Archives uploaded to S3, several at a time. What is complete stays, whatever happens to the rest, so the same command
continues with the archives that are missing. Within one archive nothing is resumed: boto3's transfer manager sends it,
and deletes the parts of what it cannot complete.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from boto3.s3.transfer import ProgressCallbackInvoker, TransferConfig, create_transfer_manager
from botocore.exceptions import BotoCoreError, ClientError

from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws, aws_errors
from triton_ensembles.deploy.bucket import S3Prefix, ensure_bucket
from triton_ensembles.deploy.stored import is_uploaded, metadata_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress

AT_ONCE = 8  # archives, and parts of them; botocore keeps ten connections
_PART = 8 << 20  # bytes of a part: boto3's own default
# "classic": what awscrt would send on some machines instead reports no progress of parts.
_TRANSFERS = TransferConfig(_PART, AT_ONCE, _PART, preferred_transfer_client="classic")
_REPORT_SECONDS = 2.0


def missing_archives(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> list[Archive]:
    """Find out which of the archives are not in S3.
    Raises :class:`EnsembleError`: a key holds another file, or S3's reason."""
    unique = list({archive.key: archive for archive in archives}.values())
    with aws_errors(f"look for archives in {place.url}"), ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda archive: is_uploaded(aws, place, archive), unique))
    missing = []
    for archive, is_there in zip(unique, answers, strict=True):
        if is_there:
            progress(f"{place.url}{archive.key}  already uploaded")
        else:
            missing.append(archive)
    return missing


def upload_archives(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> list[Archive]:
    """Upload the archives that are not there yet. Returns which these were.

    What is complete stays in S3 after a failure or Ctrl-C. A bucket that this call has created is deleted if nothing is
    in it.

    Raises:
        EnsembleError: a key holds another file, or S3's reason.
    """
    missing = missing_archives(aws, place, archives, progress)
    if not missing:
        return missing
    undo: list[Callable[[], object]] = []
    with aws_errors(f"upload to {place.url}"):
        run = _Run(aws, place, missing, progress)
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
    return missing


class _Run:
    """Runs an upload."""

    def __init__(self, aws: Aws, place: S3Prefix, missing: Sequence[Archive], progress: Progress) -> None:
        self._aws, self._place, self._missing, self._progress = aws, place, missing, progress
        self._sent = 0
        self._lock = threading.Lock()

    def run(self) -> None:
        manager = create_transfer_manager(self._aws.s3, _TRANSFERS)
        with ThreadPoolExecutor(AT_ONCE) as pool, manager:
            uploads = [pool.submit(self._upload, archive, manager) for archive in self._missing]
            try:
                self._wait(uploads)
            except BaseException:
                for upload in uploads:
                    upload.cancel()
                raise

    def left_anything(self) -> bool:
        """Return whether anything of this run is in S3."""
        try:
            return bool(self._aws.s3.list_objects_v2(Bucket=self._place.bucket, MaxKeys=1).get("KeyCount"))
        except (ClientError, BotoCoreError):
            return True

    def _wait(self, uploads: Sequence[Future[None]]) -> None:
        waiting = set(uploads)
        total, reported = sum(archive.size for archive in self._missing), time.monotonic()
        while waiting:
            ended, waiting = wait(waiting, _REPORT_SECONDS, FIRST_COMPLETED)
            for upload in ended:
                upload.result()
            if waiting and time.monotonic() - reported >= _REPORT_SECONDS:
                reported = time.monotonic()
                complete = len(uploads) - len(waiting)
                sent = f"{self._sent / 1e6:.1f} of {max(total, self._sent) / 1e6:.1f} MB"
                self._progress(f"sent {sent}, {complete} of {len(uploads)} archives complete")

    def _upload(self, archive: Archive, manager: Any) -> None:
        more = {"Metadata": metadata_of(archive), "ContentType": "application/gzip", "ChecksumAlgorithm": "CRC32"}
        count = ProgressCallbackInvoker(self._note)
        key = self._place.folder + archive.key
        manager.upload(str(archive.path), self._place.bucket, key, more, [count]).result()
        if not is_uploaded(self._aws, self._place, archive):
            raise EnsembleError(f"{archive.key} is not in {self._place.url} after its upload", cure="upload again")
        self._progress(f"{self._place.url}{archive.key}  uploaded, {archive.size / 1e6:.1f} MB")

    def _note(self, sent: int) -> None:
        with self._lock:
            self._sent += sent
