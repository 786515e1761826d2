"""The service that a request is signed for. Signatures are not verified: the server is on the loopback interface."""

import re
from collections.abc import Mapping
from urllib.parse import unquote

_SCOPE = re.compile(r"Credential=[^,\s]*/\d{8}/[^/,\s]*/(?P<service>[^/,\s]+)/aws4_request")
_PRESIGNED = re.compile(r"(?:^|&)(X-Amz-Credential|AWSAccessKeyId)=(?P<scope>[^&]*)")
# botocore lists the features that it used: m/…,B,… is a waiter (botocore/useragent.py).
_FEATURES = re.compile(r"\bm/(?P<features>[A-Za-z0-9+,-]+)")


def signed_service(path_qs: str, headers: Mapping[str, str]) -> str | None:
    """The service's signing name ("sagemaker", "s3", "monitoring", …), or None for an unsigned request."""
    authorization = headers.get("Authorization", "")
    if match := _SCOPE.search(authorization):
        return match["service"]
    if authorization.startswith("AWS "):  # only S3 still uses signature version 2
        return "s3"
    if match := _PRESIGNED.search(path_qs.partition("?")[2]):
        parts = unquote(match["scope"]).split("/")
        return parts[3] if len(parts) == 5 else "s3"
    return None


def from_waiter(headers: Mapping[str, str]) -> bool:
    """Return whether a boto3 waiter sent the request."""
    match = _FEATURES.search(headers.get("User-Agent", ""))
    return match is not None and "B" in match["features"].split(",")
