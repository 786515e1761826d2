"""Which service a request is for, and whether a waiter sent it, from the headers that botocore writes."""

import pytest

from triton_ensembles.endpoint.api.signature import from_waiter, signed_service

SIGNED = "AWS4-HMAC-SHA256 Credential=a/b/20261127/eu-west-1/monitoring/aws4_request, SignedHeaders=host, Signature=0"


@pytest.mark.parametrize(
    ("path", "authorization", "service"),
    [
        ("/", SIGNED, "monitoring"),
        ("/", "AWS a:b", "s3"),
        ("/b/k?X-Amz-Credential=a%2F20261127%2Feu-west-1%2Fmonitoring%2Faws4_request", "", "monitoring"),
        ("/b/k?AWSAccessKeyId=a&Signature=b", "", "s3"),
        ("/b/k", "", None),
    ],
)
def test_the_service_is_read_from_the_signature(path: str, authorization: str, service: str | None) -> None:
    assert signed_service(path, {"Authorization": authorization}) == service


@pytest.mark.parametrize(("features", "waits"), [("m/N,b,Z,E,e,B", True), ("m/N,b,Z,E,e", False)])
def test_a_waiters_request_is_recognized(features: str, waits: bool) -> None:
    agent = f"Boto3/1.44.5 md/Botocore#1.44.5 ua/2.1 os/linux#6 md/pyimpl#CPython {features} cfg/retry-mode#standard"
    assert from_waiter({"User-Agent": agent}) is waits
