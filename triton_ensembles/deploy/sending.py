"""An archive sent as a whole: a large one in parts, of which those that an interrupted run has sent are kept."""

from __future__ import annotations

import hashlib
from concurrent.futures import Executor
from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws, error_code
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.multipart import CHECKSUM, PART, FromFile, Multipart, file_parts, numbered
from triton_ensembles.deploy.pieces import LEAST_PART
from triton_ensembles.deploy.stored import unfinished
from triton_ensembles.deploy.transfer import Meter, Range

_SINGLE = PART + LEAST_PART  # bytes: what is not longer is one request
_BLOCK = 1 << 20
_SPOILED = ("BadDigest", "InvalidPart", "InvalidPartOrder", "EntityTooSmall")


def send(aws: Aws, place: S3Prefix, archive: Archive, crc: int, pool: Executor, meter: Meter, **more: Any) -> None:
    """Send the archive. ``pool`` runs the requests of its parts; ``more``: of PutObject, such as Metadata.

    Raises:
        ClientError: S3's reason.
    """
    key = place.folder + archive.key
    if archive.size < _SINGLE:
        with Range(archive.path, 0, archive.size, meter) as body:
            aws.s3.put_object(Bucket=place.bucket, Key=key, Body=body, ChecksumAlgorithm="CRC32", **more)
        meter.note(sent=archive.size)
        return
    parts = dict(enumerate(file_parts(0, archive.size), 1))
    upload, there = _continued(aws, place, archive, key, parts, meter)
    if upload is None:
        upload = Multipart.begin(aws.s3, place.bucket, key, archive, meter, **more)
    waiting = {number: pool.submit(upload.add, number, part) for number, part in parts.items() if number not in there}
    try:
        done = there | {number: sent.result() for number, sent in waiting.items()}
        upload.complete([done[number] for number in sorted(done)], crc)
    except BaseException as error:
        for each in waiting.values():
            each.cancel()
        if isinstance(error, ClientError) and error_code(error) in _SPOILED:
            upload.abort()  # a part is damaged: nothing would come of going on
        raise


def _continued(
    aws: Aws, place: S3Prefix, archive: Archive, key: str, parts: dict[int, FromFile], meter: Meter
) -> tuple[Multipart | None, dict[int, dict[str, Any]]]:
    """An unfinished upload of this archive, and those of its parts that have the same bytes as the file."""
    for each in unfinished(aws, place, key):
        if each["Key"] != key or any(each.get(name, value) != value for name, value in CHECKSUM.items()):
            continue
        upload = Multipart(aws.s3, place.bucket, key, each["UploadId"], archive, meter)
        found = upload.parts()
        same = {number: part for number, part in found.items() if number in parts and _is(part, archive, parts[number])}
        if found.keys() <= parts.keys():
            return upload, {number: numbered(number, part) for number, part in same.items()}
    return None, {}


def _is(found: dict[str, Any], archive: Archive, part: FromFile) -> bool:
    """Whether a part has these bytes of the file. Where S3 encrypts with KMS, its ETag does not tell: it is sent."""
    if found["Size"] != part.length:
        return False
    digest = hashlib.md5(usedforsecurity=False)
    with archive.path.open("rb") as file:
        file.seek(part.start)
        left = part.length
        while left and (block := file.read(min(left, _BLOCK))):
            digest.update(block)
            left -= len(block)
    return str(found["ETag"]).strip('"') == digest.hexdigest()
