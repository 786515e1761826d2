"""The archives that are in S3: which, since when, whose, and their deletion."""

from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws, if_exists, is_missing
from triton_ensembles.deploy.bucket import S3Prefix, delete_bucket
from triton_ensembles.deploy.keys import SUFFIX, has_digest
from triton_ensembles.deploy.resource_names import MADE_BY, OURS
from triton_ensembles.ground.progress import Progress


def metadata_of(archive: Archive) -> dict[str, str]:
    """The metadata of an archive's object."""
    return {MADE_BY: OURS, "sha256": archive.sha256, "weights": archive.weights or "not-stated"}


def is_uploaded(aws: Aws, place: S3Prefix, archive: Archive) -> bool:
    """Return whether this archive is in S3: its key has a digest of its content. Raises :class:`ClientError`."""
    return head_of(aws, place, archive.key) is not None


def stored_archives(aws: Aws, place: S3Prefix) -> dict[str, Any]:
    """The archives under the prefix as S3 lists them (Size, LastModified, …), by TargetModel: their relative keys.

    Empty when there is no such bucket. Raises :class:`ClientError` with any other reason of S3.
    """
    pages = aws.s3.get_paginator("list_objects_v2").paginate(Bucket=place.bucket, Prefix=place.folder)
    try:
        archives = [stored for page in pages for stored in page.get("Contents", ()) if stored["Key"].endswith(SUFFIX)]
    except ClientError as error:
        if is_missing(error):
            return {}
        raise
    return {stored["Key"].removeprefix(place.folder): stored for stored in archives}


def delete_uploaded(aws: Aws, place: S3Prefix, progress: Progress) -> int:
    """Delete the archives that ``upload`` uploaded, what interrupted uploads have left, and the bucket if this tool
    created it and it is empty.

    Returns how many archives and buckets were deleted. Raises :class:`ClientError` with S3's reason.
    """
    deleted = 0
    for key in stored_archives(aws, place):
        if is_ours(head_of(aws, place, key)):
            aws.s3.delete_object(Bucket=place.bucket, Key=place.folder + key)
            progress(f"deleted {place.url}{key}")
            deleted += 1
        else:
            progress(f"kept {place.url}{key}: this tool did not upload it")
    _delete_unfinished(aws, place, progress)
    return deleted + delete_bucket(aws, place.bucket, progress)


def _delete_unfinished(aws: Aws, place: S3Prefix, progress: Progress) -> None:
    """Delete what multipart uploads have left that were neither completed nor aborted."""
    where = {"Bucket": place.bucket}
    pages = aws.s3.get_paginator("list_multipart_uploads").paginate(**where, Prefix=place.folder)
    try:
        uploads = [upload for page in pages for upload in page.get("Uploads", ())]
    except ClientError as error:
        if is_missing(error):
            return
        raise
    for entry in uploads:
        if has_digest(entry["Key"]):
            if_exists(aws.s3.abort_multipart_upload, **where, Key=entry["Key"], UploadId=entry["UploadId"])
            progress(f"deleted the unfinished upload of s3://{place.bucket}/{entry['Key']}")


def head_of(aws: Aws, place: S3Prefix, key: str) -> dict[str, Any] | None:
    """HeadObject's answer for an archive, None where there is none. Raises :class:`ClientError`."""
    return if_exists(aws.s3.head_object, Bucket=place.bucket, Key=place.folder + key)


def is_ours(head: dict[str, Any] | None) -> bool:
    """Return whether ``upload`` has written this object."""
    return head is not None and head["Metadata"].get(MADE_BY) == OURS
