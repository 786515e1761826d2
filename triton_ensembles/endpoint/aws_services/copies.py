"""UploadPartCopy as S3 has it: moto neither heeds the conditions on the source nor looks at the range.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from moto.core.utils import str_to_rfc_1123_datetime
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
    bucket, slash, key = unquote(address.path).lstrip("/").partition("/")
    if not (bucket and slash and key):
        raise Fault("InvalidArgument", "Copy Source must mention the source bucket and key: sourcebucket/sourcekey")
    version = parse_qs(address.query).get("versionId", [None])[0]
    found = response.backend.get_object(bucket, key, version_id=version)
    if found is None or not hasattr(found, "etag"):  # or a delete marker
        raise Fault("NoSuchKey", "The specified key does not exist.", "404 Not Found")
    return found


def _check_conditions(headers: Any, source: Any) -> None:
    etag = source.etag.strip('"')
    wanted, unwanted = (headers.get(f"{_IF}{name}") for name in ("match", "none-match"))
    since, until = (headers.get(f"{_IF}{name}") for name in ("modified-since", "unmodified-since"))
    changed = source.last_modified.replace(microsecond=0)
    failed = [
        wanted is not None and wanted.strip('"') not in (etag, "*"),
        unwanted is not None and unwanted.strip('"') in (etag, "*"),
        until is not None and wanted is None and changed > str_to_rfc_1123_datetime(until),
        since is not None and unwanted is None and changed <= str_to_rfc_1123_datetime(since),
    ]
    if any(failed):
        message = "At least one of the pre-conditions you specified did not hold"
        raise Fault("PreconditionFailed", message, "412 Precondition Failed")


def _check_range(written: str | None, size: int) -> None:
    if written is None:
        length = size
    else:
        found = _RANGE.fullmatch(written)
        if not found or int(found["first"]) > int(found["last"]):
            message = (
                "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the "
                "zero-based offsets of the first and last bytes to copy"
            )
            raise Fault("InvalidArgument", message)
        if int(found["last"]) >= size:
            raise Fault("InvalidArgument", f"Range specified is not valid for source object of size: {size}")
        if size <= _LEAST_FOR_RANGE:
            raise Fault("InvalidRequest", "The specified copy source is too small for a range: it has at most 5 MiB.")
        length = int(found["last"]) - int(found["first"]) + 1
    if length > _LARGEST:
        message = f"The specified copy source is larger than the maximum allowable size for a copy source: {_LARGEST}"
        raise Fault("InvalidRequest", message)
