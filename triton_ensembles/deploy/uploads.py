"""Archives uploaded to S3 by boto3's transfer manager, several at a time. What is complete stays, whatever happens to
the rest: the same command goes on with the archives that are missing. Within one archive nothing is resumed; the
manager deletes the parts of what it cannot complete.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from boto3.s3.transfer import ProgressCallbackInvoker, TransferConfig, create_transfer_manager

from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws, aws_errors
from triton_ensembles.deploy.bucket import S3Prefix, ensure_bucket
from triton_ensembles.deploy.stored import is_uploaded, metadata_of
from triton_ensembles.ground.progress import Paced, Progress

_AT_ONCE = 8  # requests; botocore keeps ten connections
_PART = 8 << 20  # bytes of a part: boto3's own default
# "classic": what awscrt would send on some machines instead reports no progress of parts.
_TRANSFERS = TransferConfig(_PART, _AT_ONCE, _PART, preferred_transfer_client="classic")


def missing_archives(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> list[Archive]:
    """Find out which of the archives are not in S3. Raises :class:`EnsembleError`: S3's reason."""
    unique = list({archive.key: archive for archive in archives}.values())
    with aws_errors(f"look for archives in {place.url}"), ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(lambda archive: is_uploaded(aws, place, archive), unique))
    missing = []
    for archive, is_there in zip(unique, answers, strict=True):
        if is_there:
            progress(f"{place.url}{archive.key}  already uploaded")
        else:
            missing.append(archive)
    return missing


def upload_archives(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> list[Archive]:
    """Upload the archives that are not there yet. Returns which these were. After a failure or Ctrl-C, what is complete
    stays in S3, as does the bucket. Raises :class:`EnsembleError`: S3's reason."""
    missing = missing_archives(aws, place, archives, progress)
    if missing:
        with aws_errors(f"upload to {place.url}"):
            ensure_bucket(aws, place.bucket, progress)
            try:
                _send(aws, place, missing, progress)
            except BaseException:
                progress("the archives that are complete stay in S3: the same command uploads the others")
                raise
    return missing


def _send(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> None:
    """Send the archives. What fails, or Ctrl-C, cancels those that are not complete."""
    sent = _Sent(sum(archive.size for archive in archives), progress)
    with create_transfer_manager(aws.s3, _TRANSFERS) as manager:
        uploads = []
        for archive in archives:
            more = {"Metadata": metadata_of(archive), "ContentType": "application/gzip", "ChecksumAlgorithm": "CRC32"}
            count = ProgressCallbackInvoker(sent.note)
            uploads.append(manager.upload(str(archive.path), place.bucket, place.folder + archive.key, more, [count]))
        for archive, upload in zip(archives, uploads, strict=True):
            upload.result()
            progress(f"{place.url}{archive.key}  uploaded, {archive.size / 1e6:.1f} MB")


class _Sent:
    """Counts the bytes that were sent, and says so from time to time."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._sent, self._total, self._say = 0, total, Paced(progress)
        self._lock = threading.Lock()

    def note(self, size: int) -> None:
        with self._lock:
            self._sent += size
            self._say(lambda: f"sent {self._sent / 1e6:.1f} of {max(self._total, self._sent) / 1e6:.1f} MB")
