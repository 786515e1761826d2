"""The rules of names of buckets: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html"""

import re

from moto.s3.exceptions import InvalidBucketName
from moto.s3.models import S3Backend

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ADDRESS = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
_PREFIXES = ("xn--", "sthree-", "amzn-s3-demo-")
_SUFFIXES = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")


def allowed(name: str) -> bool:
    """Whether AWS would make a general purpose bucket of this name."""
    return bool(
        _NAME.fullmatch(name)
        and ".." not in name
        and not _ADDRESS.fullmatch(name)
        and not name.startswith(_PREFIXES)
        and not name.endswith(_SUFFIXES)
    )


def install() -> None:
    """Make moto refuse other names: it only looks at their length."""
    create = S3Backend.create_bucket

    def create_bucket(self: S3Backend, bucket_name: str, *arguments: object, **options: object) -> object:
        if not allowed(bucket_name):
            raise InvalidBucketName
        return create(self, bucket_name, *arguments, **options)

    S3Backend.create_bucket = create_bucket
