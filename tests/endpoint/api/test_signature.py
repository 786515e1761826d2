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
    client = boto3.client(
        service, endpoint_url="http://127.0.0.1:1", region_name="eu-west-1", aws_access_key_id="a/b",
        aws_secret_access_key="c",
    )  # fmt: skip
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


@pytest.mark.parametrize(
    ("service", "call", "parameters", "name"),
    [
        ("sagemaker", "list_models", {}, "sagemaker"),
        ("sagemaker-runtime", "invoke_endpoint", {"EndpointName": "e", "Body": b""}, "sagemaker"),
        ("s3", "list_buckets", {}, "s3"),
        ("cloudwatch", "list_metrics", {}, "monitoring"),
        ("sts", "get_caller_identity", {}, "sts"),
        ("application-autoscaling", "describe_scalable_targets", {"ServiceNamespace": "sagemaker"},
         "application-autoscaling"),
    ],
)  # fmt: skip
def test_the_service_is_read_from_the_signature(service: str, call: str, parameters: Any, name: str) -> None:
    request = sent(service, call, **parameters)
    headers = {key: value.decode() if isinstance(value, bytes) else value for key, value in request.headers.items()}
    assert signed_service("/", headers) == name


def test_presigned_urls_are_recognized_by_their_query() -> None:
    client = boto3.client("s3", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="c")
    url = client.generate_presigned_url("get_object", Params={"Bucket": "b", "Key": "k"})
    assert signed_service(url.split("amazonaws.com")[1], {}) == "s3"
    assert signed_service("/b/k?X-Amz-Credential=a%2F20260101%2Feu-west-1%2Fs3%2Faws4_request", {}) == "s3"
    assert signed_service("/", {"Authorization": "AWS a:b"}) == "s3"
    assert signed_service("/b/k", {}) is None


def test_a_waiters_request_is_recognized() -> None:
    asked = sent("sagemaker", "describe_endpoint", EndpointName="e")
    waited = sent("sagemaker", "wait:endpoint_in_service", EndpointName="e")
    agents = [request.headers["User-Agent"] for request in (asked, waited)]
    agents = [agent.decode() if isinstance(agent, bytes) else agent for agent in agents]
    assert [from_waiter({"User-Agent": agent}) for agent in agents] == [False, True]
