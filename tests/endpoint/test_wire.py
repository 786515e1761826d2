"""What no boto3 client sends, but others do."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import requests

from tests.endpoint.conftest import BUCKET, Deployer, ask, page, signed
from tests.hosting import archives
from tests.processes import wait_until
from tests.running import connected
from triton_ensembles.endpoint.local import LocalEndpoint


def invocation(local: LocalEndpoint, endpoint: str, model: str, *values: float) -> bytes:
    body = archives.body(*values)
    head = f"POST /endpoints/{endpoint}/invocations HTTP/1.1\r\nHost: {local.url.removeprefix('http://')}\r\n"
    head += f"X-Amzn-SageMaker-Target-Model: {model}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def in_flight(local: LocalEndpoint) -> int:
    """The number of requests that endpoints are answering, on the status page."""
    return sum(map(int, re.findall(r"in flight</dt><dd>(\d+)", page(local))))


def test_the_request_of_a_client_that_is_gone_is_not_executed(
    deployer: Deployer, local: LocalEndpoint, shared: str, tmp_path: Path
) -> None:
    gate, done = archives.Gate(tmp_path), tmp_path / "done"
    note = f"open({str(done)!r}, 'a').write(str(x[0]) + ' ')"
    deployer.put("queued.tar.gz", archives.model("queued", initialize=gate.wait, execute=note))

    kept, dropped = (connected(local.url) for _ in range(2))
    with kept:
        kept.sendall(invocation(local, shared, "queued.tar.gz", 1))
        with dropped:
            dropped.sendall(invocation(local, shared, "queued.tar.gz", 2))
            wait_until(gate.reached)
            wait_until(lambda: in_flight(local) == 2)
        wait_until(lambda: in_flight(local) == 1)
        gate.open()
        answer = b""
        while b'"data":[1.0]' not in answer:
            answer += kept.recv(65536)
    assert done.read_text() == "1.0 "


def test_a_client_that_leaves_before_it_has_asked_affects_no_other(
    local: LocalEndpoint, shared: str, runtime: Any
) -> None:
    with connected(local.url) as connection:
        connection.sendall(invocation(local, shared, "one.tar.gz", 1)[:-5])
    assert ask(runtime, shared, "one.tar.gz", 2) == [2]


@pytest.mark.parametrize(
    "target", ["http://{host}/", "http://example.org/x", "http://{host}/endpoints/a/invocations", "*", "example.org:80"]
)
def test_requests_as_for_a_proxy_are_bad(local: LocalEndpoint, target: str) -> None:
    host = local.url.removeprefix("http://")
    method = {"*": "OPTIONS", "example.org:80": "CONNECT"}.get(target, "POST")
    head = f"{method} {target.format(host=host)} HTTP/1.1\r\nHost: {host}\r\n"
    with connected(local.url) as connection:
        connection.sendall(f"{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"send the path alone" in answer


STATISTICS = "Action=GetMetricStatistics&Namespace=a&MetricName=b&EndTime=2026-01-01T00:00:00Z&Period=60"


@pytest.mark.parametrize(
    ("service", "path", "target", "body", "code"),
    [
        ("monitoring", "/", None, f"{STATISTICS}&StartTime=yesterday&Statistics.member.1=Sum", "<Code>InvalidRequest<"),
        ("sts", "/", None, "Action=FlyToTheMoon&Version=2011-06-15", "<Code>InvalidRequest<"),
        ("monitoring", "/", "GraniteServiceVersion20100801.ListMetrics", '"text"', '"SerializationException"'),
        ("s3", f"/{BUCKET}?delete", None, "<Delete>" * 50_000, "<Code>InvalidRequest<"),
        ("s3", f"/{BUCKET}?cors", None, "<CORSConfiguration>x</CORSConfiguration>", "<Code>InvalidRequest<"),
        ("s3", f"/{BUCKET}?lifecycle", None, "<a/>", "<Code>"),
        ("s3", f"/{BUCKET}/x?uploadId=gone", None, "<CompleteMultipartUpload/>", "<Code>NoSuchUpload<"),
    ],
)
def test_what_cannot_be_read_is_a_bad_request_in_the_format_of_its_service(
    local: LocalEndpoint, service: str, path: str, target: str | None, body: str, code: str
) -> None:
    headers = {"Authorization": signed(service), "Content-Type": "application/x-www-form-urlencoded"}
    if target is not None:
        headers |= {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"}
    method = "PUT" if path.startswith(f"/{BUCKET}?") and "delete" not in path else "POST"
    reply = requests.request(method, local.url + path, data=body, headers=headers, timeout=300)
    if "xml" in reply.headers["Content-Type"]:
        ElementTree.fromstring(reply.text)
    assert 400 <= reply.status_code < 500
    assert code in reply.text
    assert "/moto/" not in reply.text
