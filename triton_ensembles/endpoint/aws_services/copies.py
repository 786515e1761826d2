"""UploadPartCopy as S3 has it: moto does not heed the conditions on the source.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from moto.s3.responses import S3Response

from triton_ensembles.endpoint.aws_services.fault import Fault

_IF = "x-amz-copy-source-if-"


def install() -> None:
    """Make moto refuse what S3 refuses, in this process."""
    copy = S3Response.upload_part_copy

    def upload_part_copy(self: Any) -> Any:
        _check_conditions(self.headers, _source(self))
        return copy(self)

    S3Response.upload_part_copy = upload_part_copy


def _source(response: Any) -> Any:
    """moto's object that is copied from."""
    address = urlsplit(response.headers["x-amz-copy-source"])
    bucket, _, key = unquote(address.path).lstrip("/").partition("/")
    version = parse_qs(address.query).get("versionId", [None])[0]
    source = response.backend.get_object(bucket, key, version_id=version)
    if source is None or not hasattr(source, "etag"):  # or a delete marker
        raise Fault("NoSuchKey", "The specified key does not exist.", 404)
    return source


def _check_conditions(headers: Any, source: Any) -> None:
    for name in ("none-match", "modified-since", "unmodified-since"):
        if f"{_IF}{name}" in headers:
            message = f"{_IF}{name} is not supported locally: use {_IF}match"
            raise Fault("NotImplemented", message, 501)
    etag = headers.get(f"{_IF}match")
    if etag is not None and etag.strip('"') not in (source.etag.strip('"'), "*"):
        message = "At least one of the pre-conditions you specified did not hold"
        raise Fault("PreconditionFailed", message, 412)
