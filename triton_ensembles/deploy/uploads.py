"""The archives in S3: uploaded, listed and deleted."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from triton_ensembles.deploy.archives import SUFFIX, Archive
from triton_ensembles.deploy.aws import Aws, aws_errors, if_exists, is_missing
from triton_ensembles.deploy.bucket import S3Prefix, delete_bucket, ensure_bucket
from triton_ensembles.deploy.resource_names import MADE_BY, OURS, UNKNOWN_WEIGHTS
from triton_ensembles.deploy.rollback import Progress, rollback
from triton_ensembles.errors import EnsembleError

_PARTS = TransferConfig(multipart_threshold=32 << 20, multipart_chunksize=32 << 20)


def upload_archives(aws: Aws, place: S3Prefix, archives: Sequence[Archive], progress: Progress) -> int:
    """Upload the archives that are not there yet, and return how many.

    After a failure, what this call uploaded is deleted again.

    Raises:
        EnsembleError: a key holds another file, or S3's reason.
    """
    uploaded = 0
    with aws_errors(f"upload to {place.url}"), rollback(progress) as created:
        ensure_bucket(aws, place.bucket, progress, created)
        for archive in archives:
            if is_uploaded(aws, place, archive):
                progress(f"{place.url}{archive.key}  already uploaded")
                continue
            key = place.folder + archive.key
            created(f"archive {archive.key}", partial(aws.s3.delete_object, Bucket=place.bucket, Key=key))
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


def stored_archives(aws: Aws, place: S3Prefix) -> dict[str, int]:
    """The size in bytes of each archive under the prefix, by its key relative to it, as TargetModel takes it.

    Empty when there is no such bucket. Raises :class:`ClientError` with any other reason of S3.
    """
    return {key: each["Size"] for key, each in _objects(aws, place).items()}


def upload_times(aws: Aws, place: S3Prefix) -> dict[str, datetime]:
    """As :func:`stored_archives`, with the time of each archive's upload."""
    return {key: each["LastModified"] for key, each in _objects(aws, place).items()}


def _objects(aws: Aws, place: S3Prefix) -> dict[str, Any]:
    pages = aws.s3.get_paginator("list_objects_v2").paginate(Bucket=place.bucket, Prefix=place.folder)
    try:
        found = [each for page in pages for each in page.get("Contents", ()) if each["Key"].endswith(SUFFIX)]
    except ClientError as error:
        if is_missing(error):
            return {}
        raise
    return {each["Key"].removeprefix(place.folder): each for each in found}


def weights_of(aws: Aws, place: S3Prefix, key: str) -> str:
    """The weights that :func:`upload_archives` noted, or "not-stated"; "" for an archive that it did not upload."""
    found = _head(aws, place, key)
    return found["Metadata"].get("weights", "") if found and _is_ours(found) else ""


def delete_uploaded(aws: Aws, place: S3Prefix, progress: Progress) -> int:
    """Delete the archives that :func:`upload_archives` uploaded, and the bucket if it created that and it is empty.

    Returns how many archives and buckets were deleted. Raises :class:`ClientError` with S3's reason.
    """
    deleted = 0
    for key in stored_archives(aws, place):
        if _is_ours(_head(aws, place, key)):
            aws.s3.delete_object(Bucket=place.bucket, Key=place.folder + key)
            progress(f"deleted {place.url}{key}")
            deleted += 1
        else:
            progress(f"kept {place.url}{key}: this tool did not upload it")
    return deleted + delete_bucket(aws, place.bucket, progress)


def _head(aws: Aws, place: S3Prefix, key: str) -> dict[str, Any] | None:
    return if_exists(aws.s3.head_object, Bucket=place.bucket, Key=place.folder + key)


def _is_ours(head: dict[str, Any] | None) -> bool:
    return head is not None and head["Metadata"].get(MADE_BY) == OURS
