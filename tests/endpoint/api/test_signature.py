"""Which service a request is for, and whether a waiter sent it, from the headers that botocore writes."""

from __future__ import annotations

from typing import Any

import boto3
import pytest

from triton_ensembles.endpoint.api.signature import from_waiter, signed_service


class Stop(Exception):  # noqa: N818
    """Raised instead of sending the request."""


def sent(service: str, call: str, **parameters: Any) -> Any:
    """The request that boto3 would send."""
    keys = {"aws_access_key_id": "a/b", "aws_secret_access_key": "c", "region_name": "eu-west-1"}
    client = boto3.client(service, endpoint_url="http://127.0.0.1:1", **keys)
    found: list[Any] = []

    def keep(request: Any, **_: Any) -> None:
        found.append(request)
        raise Stop

    client.meta.events.register("before-send", keep)
    with pytest.raises(Stop):
        if call.startswith("wait:"):
            client.get_waiter(call[5:]).wait(**parameters)
        else:
            getattr(client, call)(**parameters)
    return found[0]


def headers_of(request: Any) -> dict[str, str]:
    return {key: value.decode() if isinstance(value, bytes) else value for key, value in request.headers.items()}


@pytest.mark.parametrize(
    ("service", "call", "parameters", "name"),
    [
        ("sagemaker", "list_models", {}, "sagemaker"),
        ("sagemaker-runtime", "invoke_endpoint", {"EndpointName": "e", "Body": b""}, "sagemaker"),
        ("s3", "list_buckets", {}, "s3"),
        ("cloudwatch", "list_metrics", {}, "monitoring"),
        ("sts", "get_caller_identity", {}, "sts"),
    ],
)
def test_the_service_is_read_from_the_signature(service: str, call: str, parameters: Any, name: str) -> None:
    assert signed_service("/", headers_of(sent(service, call, **parameters))) == name


def test_presigned_urls_are_recognized_by_their_query() -> None:
    client = boto3.client("s3", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="c")
    url = client.generate_presigned_url("get_object", Params={"Bucket": "b", "Key": "k"})
    assert signed_service(url.split("amazonaws.com")[1], {}) == "s3"
    assert signed_service("/b/k?X-Amz-Credential=a%2F20260101%2Feu-west-1%2Fs3%2Faws4_request", {}) == "s3"
    assert signed_service("/", {"Authorization": "AWS a:b"}) == "s3"
    assert signed_service("/b/k", {}) is None


@pytest.mark.parametrize(("call", "waits"), [("describe_endpoint", False), ("wait:endpoint_in_service", True)])
def test_a_waiters_request_is_recognized(call: str, waits: bool) -> None:
    assert from_waiter(headers_of(sent("sagemaker", call, EndpointName="e"))) is waits
