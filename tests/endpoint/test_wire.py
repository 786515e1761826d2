"""What no boto3 client sends, but others do."""

from __future__ import annotations

import socket

import pytest
import requests

from tests.endpoint.conftest import BUCKET
from tests.endpoint.hosting import archives
from triton_ensembles.endpoint.local import LocalEndpoint


def exchange(local: LocalEndpoint, data: bytes, *, half_close: bool = True) -> bytes:
    """Everything that comes back until the server closes the connection."""
    host, port = local.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=300) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def invocation(local: LocalEndpoint, endpoint: str, model: str, *values: float) -> bytes:
    body = archives.body(*values)
    head = f"POST /endpoints/{endpoint}/invocations HTTP/1.1\r\nHost: {local.url.removeprefix('http://')}\r\n"
    head += f"X-Amzn-SageMaker-Target-Model: {model}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_a_client_that_sends_no_more_gets_its_answers(local: LocalEndpoint, shared: str) -> None:
    """`nc -N` and some proxies close their half of the connection after the request."""
    slow, fast = invocation(local, shared, "slow.tar.gz", 0.2), invocation(local, shared, "one.tar.gz", 5)
    assert b'"data":[0.2' in exchange(local, slow)
    answers = exchange(local, slow + fast + fast)
    assert (answers.count(b"HTTP/1.1 200"), answers.count(b'"data":[5.0]')) == (3, 2)
    host = local.url.removeprefix("http://")
    assert exchange(local, f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).startswith(b"HTTP/1.1 200")
    assert exchange(local, f"GET /{BUCKET}/half HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).startswith(b"HTTP/1.1 404")


def test_a_connection_without_a_whole_request_ends_with_the_clients_half(local: LocalEndpoint, shared: str) -> None:
    assert exchange(local, b"") == b""
    assert exchange(local, invocation(local, shared, "one.tar.gz", 1)[:-5]) == b""


@pytest.mark.parametrize(
    "target", ["http://{host}/", "http://example.org/x", "http://{host}/endpoints/a/invocations", "*", "example.org:80"]
)
def test_requests_as_for_a_proxy_are_bad(local: LocalEndpoint, target: str) -> None:
    host = local.url.removeprefix("http://")
    method = {"*": "OPTIONS", "example.org:80": "CONNECT"}.get(target, "POST")
    line = f"{method} {target.format(host=host)} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"
    answer = exchange(local, line.encode())
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"send the path alone" in answer


SIGNED = "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/{}/aws4_request, SignedHeaders=host, Signature=0"
STATISTICS = "Action=GetMetricStatistics&Namespace=a&MetricName=b&EndTime=2026-01-01T00:00:00Z&Period=60"


@pytest.mark.parametrize(
    ("service", "path", "target", "body", "code"),
    [
        ("monitoring", "/", None, f"{STATISTICS}&StartTime=yesterday&Statistics.member.1=Sum", "<Code>InvalidRequest<"),
        ("monitoring", "/", "GraniteServiceVersion20100801.GetMetricStatistics", "[" * 100_000, '"InvalidRequest"'),
        ("sts", "/", None, "Action=FlyToTheMoon&Version=2011-06-15", "<Code>InvalidRequest<"),
        ("application-autoscaling", "/", "AnyScaleFrontendService.X", "{}", '"NotSupportedLocally"'),
        ("s3", f"/{BUCKET}?delete", None, "<Delete>" * 50_000, "<Code>InvalidRequest<"),
        ("s3", f"/{BUCKET}/x?uploadId=gone", None, "<CompleteMultipartUpload/>", "<Code>NoSuchUpload<"),
    ],
)
def test_what_cannot_be_read_is_a_bad_request_in_the_format_of_its_service(
    local: LocalEndpoint, service: str, path: str, target: str | None, body: str, code: str
) -> None:
    headers = {"Authorization": SIGNED.format(service), "Content-Type": "application/x-www-form-urlencoded"}
    if target is not None:
        headers |= {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"}
    reply = requests.post(local.url + path, body, headers=headers, timeout=300)
    assert 400 <= reply.status_code < 500
    assert code in reply.text
    assert "/moto/" not in reply.text
