"""The archives in S3: uploaded, listed and deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from triton_ensembles.deploy.archives import SUFFIX, Archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.aws_errors import aws_errors, if_exists, is_missing
from triton_ensembles.deploy.bucket import S3Prefix, delete_bucket, ensure_bucket
from triton_ensembles.deploy.resource_names import MADE_BY, OURS, UNKNOWN_WEIGHTS
from triton_ensembles.deploy.rollback import Progress, Rollback
from triton_ensembles.errors import EnsembleError

_PARTS = TransferConfig(multipart_threshold=32 << 20, multipart_chunksize=32 << 20)


@dataclass(frozen=True)
class StoredArchive:
    """An archive in S3: ``key`` is relative to the prefix, as TargetModel takes it; ``size`` is in bytes."""

    key: str
    size: int


def upload_archives(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> int:
    """Upload the archives that are not there yet. After a failure, what this call uploaded is deleted again.

    Returns:
        How many were uploaded.

    Raises:
        EnsembleError: a key holds another file, or S3's reason.
    """
    uploaded = 0
    with aws_errors(f"upload to {place.url}"), Rollback(progress) as rollback:
        ensure_bucket(aws, place.bucket, progress, rollback)
        for archive in archives:
            if is_uploaded(aws, place, archive):
                progress(f"{place.url}{archive.key}  already uploaded")
                continue
            key = place.folder + archive.key
            rollback.add(f"archive {archive.key}", partial(aws.s3.delete_object, Bucket=place.bucket, Key=key))
            progress(f"{place.url}{archive.key}  uploading {archive.size / 1e6:.1f} MB")
            metadata = {MADE_BY: OURS, "sha256": archive.sha256, "weights": archive.weights or UNKNOWN_WEIGHTS}
            more = {"Metadata": metadata, "ContentType": "application/gzip"}
            aws.s3.upload_file(str(archive.path), place.bucket, key, ExtraArgs=more, Config=_PARTS)
            if not is_uploaded(aws, place, archive):
                raise EnsembleError(f"{archive.key} is not in {place.url} after its upload", cure="upload again")
            uploaded += 1
    return uploaded


def is_uploaded(aws: Aws, place: S3Prefix, archive: Archive) -> bool:
    """Whether this archive, with this content, is in S3.

    Raises:
        EnsembleError: its key holds another file.
        ClientError: S3's reason.
    """
    found = _head(aws, place, archive.key)
    if found is None:
        return False
    if found["Metadata"].get("sha256") != archive.sha256 or found["ContentLength"] != archive.size:
        raise EnsembleError(
            f"{place.url}{archive.key} is another file than {archive.path.name}",
            cure="delete it, or use another --prefix",
        )
    return True


def stored_archives(aws: Aws, place: S3Prefix) -> Iterator[StoredArchive]:
    """All archives under the prefix; none when there is no such bucket.

    Raises:
        ClientError: S3's reason.
    """
    try:
        for page in aws.s3.get_paginator("list_objects_v2").paginate(Bucket=place.bucket, Prefix=place.folder):
            for each in page.get("Contents", ()):
                if each["Key"].endswith(SUFFIX):
                    yield StoredArchive(each["Key"].removeprefix(place.folder), each["Size"])
    except ClientError as error:
        if not is_missing(error):
            raise


def weights_of(aws: Aws, place: S3Prefix, key: str) -> str:
    """What :func:`upload_archives` noted: "pretrained", "random" or "not-stated"; "" for an archive it did not upload.

    Raises:
        ClientError: S3's reason.
    """
    found = _head(aws, place, key)
    return found["Metadata"].get("weights", "") if found and _is_ours(found) else ""


def delete_uploaded(aws: Aws, place: S3Prefix, progress: Progress) -> int:
    """Delete the archives that :func:`upload_archives` uploaded, and the bucket if it created that and it is empty.

    Returns:
        How many archives and buckets were deleted.

    Raises:
        ClientError: S3's reason.
    """
    deleted = 0
    for each in list(stored_archives(aws, place)):
        if _is_ours(_head(aws, place, each.key)):
            aws.s3.delete_object(Bucket=place.bucket, Key=place.folder + each.key)
            progress(f"deleted {place.url}{each.key}")
            deleted += 1
        else:
            progress(f"kept {place.url}{each.key}: this tool did not upload it")
    return deleted + delete_bucket(aws, place.bucket, progress)


def _head(aws: Aws, place: S3Prefix, key: str) -> dict[str, Any] | None:
    return if_exists(aws.s3.head_object, Bucket=place.bucket, Key=place.folder + key)


def _is_ours(head: dict[str, Any] | None) -> bool:
    return head is not None and head["Metadata"].get(MADE_BY) == OURS
