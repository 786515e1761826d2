"""The bucket of the archives, and the prefix in it that SageMaker calls ModelDataUrl."""

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.aws import Aws, aws_errors, error_code, if_exists
from triton_ensembles.deploy.resource_names import MADE_BY, OURS, read_tags, write_tags
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress


@dataclass(frozen=True)
class S3Prefix:
    """``s3://bucket/prefix/``: every archive under it is a TargetModel of the endpoint, now and later."""

    bucket: str
    prefix: str

    @classmethod
    def of_url(cls, url: str) -> "S3Prefix":
        """The prefix of a ModelDataUrl."""
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        return cls(bucket, prefix)

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.folder}"

    @property
    def folder(self) -> str:
        """The prefix as objects' keys begin: with a slash at its end, or empty."""
        prefix = self.prefix.strip("/")
        return f"{prefix}/" if prefix else ""


def archive_prefix(aws: Aws, endpoint: str, bucket: str | None, prefix: str | None) -> S3Prefix:
    """Return where an endpoint's archives are.

    Args:
        bucket: None for the default bucket of this tool in the caller's account and region.
        prefix: None for the endpoint's name.

    Raises:
        EnsembleError: AWS does not tell the number of the account.
    """
    if not bucket:
        with aws_errors("find out the account, which the default bucket is named after (or use --bucket)"):
            bucket = f"triton-ensembles-{aws.region}-{aws.sts.get_caller_identity()['Account']}"
    return S3Prefix(bucket, prefix or endpoint)


def ensure_bucket(aws: Aws, bucket: str, progress: Progress) -> None:
    """Create the bucket in the region of ``aws``, with this tool's tag, unless it exists.

    Raises:
        EnsembleError: the caller may not use it.
        ClientError: S3's reason.
    """
    try:
        if if_exists(aws.s3.head_bucket, Bucket=bucket) is not None:
            return
    except ClientError as error:
        if error_code(error) in ("403", "AccessDenied", "Forbidden"):
            message = f"the bucket {bucket} belongs to another account, or the caller may not use it"
            raise EnsembleError(message, cure="choose another --bucket") from error
        raise
    progress(f"creating the bucket {bucket} in {aws.region}")
    create_bucket(aws.s3, bucket, aws.region)
    aws.s3.get_waiter("bucket_exists").wait(Bucket=bucket, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    aws.s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": write_tags()})


def create_bucket(s3: Any, bucket: str, region: str) -> None:
    """Create the bucket. S3's API refuses us-east-1 as a location, which is its default."""
    more = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket=bucket, **more)


def delete_bucket(aws: Aws, bucket: str, progress: Progress) -> int:
    """Delete the bucket if it has this tool's tag and is empty. Returns how many were deleted, 1 or 0."""
    tagging = if_exists(aws.s3.get_bucket_tagging, Bucket=bucket)
    if tagging is None or read_tags(tagging["TagSet"]).get(MADE_BY) != OURS:
        return 0
    try:
        aws.s3.delete_bucket(Bucket=bucket)
    except ClientError as error:
        if error_code(error) != "BucketNotEmpty":
            raise
        progress(f"kept the bucket {bucket}: it holds other objects")
        return 0
    progress(f"deleted the bucket {bucket}")
    return 1
