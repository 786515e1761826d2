"""The archives in S3: a bucket and the prefix that SageMaker calls ModelDataUrl."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from triton_ensembles.deploy.archives import SUFFIX, Archive
from triton_ensembles.deploy.aws import Aws, code_of, doing
from triton_ensembles.deploy.resource_names import MADE_BY, OURS, read_tags, written_tags
from triton_ensembles.deploy.rollback import Say, Undo
from triton_ensembles.errors import EnsembleError

_PARTS = TransferConfig(multipart_threshold=32 << 20, multipart_chunksize=32 << 20)


@dataclass(frozen=True)
class Place:
    """``s3://bucket/prefix/``: every archive under it is a TargetModel of the endpoint, now and later."""

    bucket: str
    prefix: str

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.folder}"

    @property
    def folder(self) -> str:
        prefix = self.prefix.strip("/")
        return f"{prefix}/" if prefix else ""


@dataclass(frozen=True)
class Stored:
    """An archive in S3; ``key`` is relative to the prefix, which is what TargetModel takes."""

    key: str
    size: int


def find_place(aws: Aws, endpoint: str, bucket: str = "", prefix: str = "") -> Place:
    """Where an endpoint's archives are, unless it is said: in a bucket of the account's own, under its name.

    Raises:
        EnsembleError: AWS does not say whose account it is.
    """
    if not bucket:
        with doing("asking for the account, to name the bucket after it (or say --bucket)"):
            bucket = f"triton-ensembles-{aws.region}-{aws.sts.get_caller_identity()['Account']}"
    return Place(bucket, prefix or endpoint)


def upload(aws: Aws, place: Place, archives: Sequence[Archive], say: Say) -> int:
    """Upload what is not there yet; how many that were. After a failure nothing of this run stays there.

    Raises:
        EnsembleError: S3's reason.
    """
    done = 0
    with doing(f"uploading to {place.url}"), Undo(say) as undo:
        _ensure_bucket(aws, place.bucket, say, undo)
        for archive in archives:
            if is_uploaded(aws, place, archive):
                say(f"{place.url}{archive.key}  is there already")
                continue
            key = place.folder + archive.key
            undo.made(f"archive {archive.key}", partial(aws.s3.delete_object, Bucket=place.bucket, Key=key))
            say(f"{place.url}{archive.key}  uploading {archive.size / 1e6:.1f} MB")
            metadata = {MADE_BY: OURS, "sha256": archive.sha256, "weights": archive.weights or "not-stated"}
            more = {"Metadata": metadata, "ContentType": "application/gzip"}
            aws.s3.upload_file(str(archive.path), place.bucket, key, ExtraArgs=more, Config=_PARTS)
            if not is_uploaded(aws, place, archive):
                raise EnsembleError(f"{archive.key} did not arrive whole in {place.url}", cure="upload again")
            done += 1
    return done


def is_uploaded(aws: Aws, place: Place, archive: Archive) -> bool:
    """Whether this very content is there. Raises :class:`EnsembleError` when something else has its key."""
    found = _head(aws, place, archive.key)
    if found is None:
        return False
    if found["Metadata"].get("sha256") != archive.sha256 or found["ContentLength"] != archive.size:
        raise EnsembleError(
            f"{place.url}{archive.key} is another file than {archive.path.name}",
            cure="delete it, or use another --prefix",
        )
    return True


def stored(aws: Aws, place: Place) -> Iterator[Stored]:
    """All archives under the prefix; none when there is no such bucket."""
    try:
        for page in aws.s3.get_paginator("list_objects_v2").paginate(Bucket=place.bucket, Prefix=place.folder):
            for each in page.get("Contents", ()):
                if each["Key"].endswith(SUFFIX):
                    yield Stored(each["Key"].removeprefix(place.folder), each["Size"])
    except ClientError as error:
        if code_of(error) != "NoSuchBucket":
            raise


def weights_of(aws: Aws, place: Place, key: str) -> str:
    """What :func:`upload` noted of the archive: "pretrained", "random" or "not-stated"; "" for one of someone else."""
    found = _head(aws, place, key)
    return found["Metadata"].get("weights", "") if found and _is_ours(found) else ""


def remove_uploaded(aws: Aws, place: Place, say: Say) -> int:
    """Delete the archives that :func:`upload` put there, and the bucket if it made that too and it is empty now."""
    removed = 0
    for each in list(stored(aws, place)):
        if _is_ours(_head(aws, place, each.key)):
            aws.s3.delete_object(Bucket=place.bucket, Key=place.folder + each.key)
            say(f"deleted {place.url}{each.key}")
            removed += 1
        else:
            say(f"kept {place.url}{each.key}: this tool did not upload it")
    return removed + _remove_bucket(aws, place.bucket, say)


def _head(aws: Aws, place: Place, key: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = aws.s3.head_object(Bucket=place.bucket, Key=place.folder + key)
    except ClientError as error:
        if code_of(error) in ("404", "NoSuchKey", "NotFound", "NoSuchBucket"):
            return None
        raise
    return found


def _is_ours(head: dict[str, Any] | None) -> bool:
    return head is not None and head["Metadata"].get(MADE_BY) == OURS


def _ensure_bucket(aws: Aws, bucket: str, say: Say, undo: Undo) -> None:
    try:
        aws.s3.head_bucket(Bucket=bucket)
        return
    except ClientError as error:
        if code_of(error) in ("403", "AccessDenied", "Forbidden"):
            raise EnsembleError(
                f"the bucket {bucket} belongs to someone else, or may not be used", cure="choose another --bucket"
            ) from error
        if code_of(error) not in ("404", "NoSuchBucket", "NotFound"):
            raise
    say(f"creating the bucket {bucket} in {aws.region}")
    undo.made(f"bucket {bucket}", partial(aws.s3.delete_bucket, Bucket=bucket))
    # S3's API refuses us-east-1 as a location, which is its default.
    more = {} if aws.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": aws.region}}
    aws.s3.create_bucket(Bucket=bucket, **more)
    aws.s3.get_waiter("bucket_exists").wait(Bucket=bucket, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    aws.s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": written_tags()})


def _remove_bucket(aws: Aws, bucket: str, say: Say) -> int:
    try:
        tags = read_tags(aws.s3.get_bucket_tagging(Bucket=bucket)["TagSet"])
        if tags.get(MADE_BY) != OURS:
            return 0
        aws.s3.delete_bucket(Bucket=bucket)
    except ClientError as error:
        if code_of(error) == "BucketNotEmpty":
            say(f"kept the bucket {bucket}: there is more in it")
        elif code_of(error) not in ("NoSuchTagSet", "NoSuchBucket"):
            raise
        return 0
    say(f"deleted the bucket {bucket}")
    return 1
