"""UploadPartCopy as S3 has it: moto neither heeds the conditions on the source nor looks at the range.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from moto.s3.responses import S3Response

from triton_ensembles.endpoint.aws_services.fault import Fault

_RANGE = re.compile(r"bytes=(?P<first>\d+)-(?P<last>\d+)")
_LARGEST = 5 << 30  # bytes of one part
_LEAST_FOR_RANGE = 5 << 20
_IF = "x-amz-copy-source-if-"


def install() -> None:
    """Make moto refuse what S3 refuses, in this process."""
    copy = S3Response.upload_part_copy

    def upload_part_copy(self: Any) -> Any:
        source = _source(self)
        _check_conditions(self.headers, source)
        _check_range(self.headers.get("x-amz-copy-source-range"), source.contentsize)
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


def _check_range(text: str | None, size: int) -> None:
    first, last = 0, size - 1
    if text is not None:
        match = _RANGE.fullmatch(text)
        if not match or int(match["first"]) > int(match["last"]):
            raise Fault("InvalidArgument", "The x-amz-copy-source-range value must be of the form bytes=first-last")
        first, last = int(match["first"]), int(match["last"])
        if last >= size:
            raise Fault("InvalidArgument", f"Range specified is not valid for source object of size: {size}")
        if size <= _LEAST_FOR_RANGE:
            raise Fault("InvalidRequest", "The specified copy source is too small for a range: it has at most 5 MiB.")
    if last - first >= _LARGEST:
        message = f"The specified copy source is larger than the maximum allowable size for a copy source: {_LARGEST}"
        raise Fault("InvalidRequest", message)
