"""InvokeEndpoint through boto3, against the real Triton."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as triton
from botocore.exceptions import WaiterError

from tests.endpoint.conftest import SOON, Deployer
from tests.endpoint.hosting import archives
from tests.triton.test_server import wait_until
from triton_ensembles.endpoint.api.runtime import BODY_BYTES
from triton_ensembles.endpoint.local import LocalEndpoint

Refused = Callable[..., tuple[str, str]]
Put = Callable[[str, Any], None]
BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="


def binary(count: int) -> tuple[bytes, str]:
    """A body of tritonclient with ``count`` numbers, and its Content-Type."""
    tensor = triton.InferInput("X", [count], "FP32")
    tensor.set_data_from_numpy(np.arange(count, dtype=np.float32))
    output = triton.InferRequestedOutput("Y", binary_data=True)
    body, length = triton.InferenceServerClient.generate_request_body([tensor], outputs=[output])
    return body, f"{BINARY}{length}"


def post(local: LocalEndpoint, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """A request without boto3 (a GET where there is no body), and the reply's status and JSON."""
    request = urllib.request.Request(local.url + path, body, headers)
    try:
        with urllib.request.urlopen(request) as reply:
            status, text = reply.status, reply.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    return status, json.loads(text) if text.startswith(b"{") else {"text": text.decode()}


def test_json_goes_in_and_comes_out(shared: str, runtime: Any) -> None:
    reply = runtime.invoke_endpoint(
        EndpointName=shared,
        TargetModel="one.tar.gz",
        ContentType="application/json",
        Accept="application/json",
        CustomAttributes="trace=1",
        InferenceId="request-1",
        Body=archives.body(1, 2),
    )
    assert archives.values(reply["Body"].read()) == [1, 2]
    assert reply["ContentType"] == "application/json"
    assert reply["InvokedProductionVariant"] == "AllTraffic"


@pytest.mark.parametrize(
    ("version", "header", "stays_open"),
    [("1.1", b"", True), ("1.1", b"Connection: close\r\n", False), ("1.0", b"", False)],
)
def test_a_connection_stays_open_as_long_as_the_client_wants(
    local: LocalEndpoint, shared: str, version: str, header: bytes, stays_open: bool
) -> None:
    """A client that waits for the end of the connection must get it; others must not need a new one each time."""
    host, port = local.url.removeprefix("http://").split(":")
    body = archives.body(4)
    request = (
        f"POST /endpoints/{shared}/invocations HTTP/{version}\r\nHost: {host}:{port}\r\n"
        f"X-Amzn-SageMaker-Target-Model: one.tar.gz\r\nContent-Length: {len(body)}\r\n"
    ).encode() + (header + b"\r\n" + body)
    with socket.create_connection((host, int(port)), timeout=300) as connection:
        for _ in range(2 if stays_open else 1):
            connection.sendall(request)
            reply = http.client.HTTPResponse(connection)
            reply.begin()
            assert archives.values(reply.read()) == [4]
            assert reply.status == 200
            assert reply.headers["Date"].endswith("GMT")
            assert reply.headers["x-Amzn-Invoked-Production-Variant"] == "AllTraffic"
            assert reply.will_close != stays_open
        if not stays_open:
            assert connection.recv(1) == b""


def test_a_target_model_may_begin_with_the_slash_that_the_prefix_lacks(
    deployer: Deployer, runtime: Any, put: Put, refused: Refused
) -> None:
    """AWS concatenates the two; its own notebook leaves the slash to TargetModel."""
    put("prefix/one.tar.gz", archives.model("one"))
    deployer.endpoint("slash", deployer.config("slash", deployer.model("slash", "s3://models/prefix")))
    for target in ("/one.tar.gz", "one.tar.gz", "/one.tar.gz"):
        reply = runtime.invoke_endpoint(EndpointName="slash", TargetModel=target, Body=archives.body(3))
        assert archives.values(reply["Body"].read()) == [3]
    call = {"EndpointName": "slash", "TargetModel": "//one.tar.gz", "Body": archives.body(3)}
    assert "prefix//one.tar.gz" in refused(runtime.invoke_endpoint, **call)[1]


@pytest.mark.parametrize("count", [3, 100_000, 1_500_000])
def test_binary_tensors_of_any_size_keep_the_containers_content_type(shared: str, runtime: Any, count: int) -> None:
    """A client finds the reply's JSON by the length that Triton writes into Content-Type."""
    body, content_type = binary(count)
    reply = runtime.invoke_endpoint(EndpointName=shared, TargetModel="one.tar.gz", ContentType=content_type, Body=body)
    assert reply["ContentType"].startswith(BINARY)
    header = int(reply["ContentType"].removeprefix(BINARY))
    result = triton.InferenceServerClient.parse_response_body(reply["Body"].read(), header_length=header)
    np.testing.assert_array_equal(result.as_numpy("Y"), np.arange(count, dtype=np.float32))


def test_a_body_of_exactly_6_mib_is_taken_and_one_byte_more_is_not(shared: str, runtime: Any) -> None:
    body, content_type = binary(1_572_000)
    head, tail = body[: int(content_type.removeprefix(BINARY))], body[int(content_type.removeprefix(BINARY)) :]
    padded = head + b" " * (BODY_BYTES - len(body))
    call: dict[str, Any] = {
        "EndpointName": shared,
        "TargetModel": "one.tar.gz",
        "ContentType": f"{BINARY}{len(padded)}",
    }
    runtime.invoke_endpoint(Body=padded + tail, **call)["Body"].read()
    with pytest.raises(runtime.exceptions.ClientError) as caught:
        runtime.invoke_endpoint(Body=padded + tail + b" ", **call)
    error = caught.value.response
    assert error["ResponseMetadata"]["HTTPStatusCode"] == 413
    assert error["Error"] == {"Code": "413", "Message": f"HTTP content length exceeded {BODY_BYTES} bytes."}


def test_a_body_of_unknown_length_is_refused_as_soon_as_it_is_too_long(local: LocalEndpoint, shared: str) -> None:
    """Not after gigabytes of it."""
    connection = http.client.HTTPConnection(local.url.removeprefix("http://"), timeout=300)
    connection.putrequest("POST", f"/endpoints/{shared}/invocations")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.putheader("X-Amzn-SageMaker-Target-Model", "one.tar.gz")
    connection.endheaders()
    piece = b"%x\r\n" % (1 << 20) + b" " * (1 << 20) + b"\r\n"
    for _ in range(7):
        connection.send(piece)
    reply = connection.getresponse()
    assert reply.status == 413
    connection.close()


def test_a_body_of_unknown_length_is_passed_on(local: LocalEndpoint, shared: str) -> None:
    connection = http.client.HTTPConnection(local.url.removeprefix("http://"), timeout=300)
    headers = {"X-Amzn-SageMaker-Target-Model": "one.tar.gz", "Content-Type": "application/json"}
    connection.request(
        "POST", f"/endpoints/{shared}/invocations", iter([archives.body(4, 5)]), headers, encode_chunked=True
    )
    assert archives.values(connection.getresponse().read()) == [4, 5]
    connection.close()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"EndpointName": "nobody"}, "Endpoint nobody of account 123456789012 not found."),
        ({}, "missing a target model header"),
        ({"TargetModel": "no/such.tar.gz"}, "key: no/such.tar.gz"),
        ({"TargetModel": "one.tar.gz", "TargetVariant": "Other"}, "Variant Other not found"),
        (
            {"TargetModel": "one.tar.gz", "InferenceComponentName": "c"},
            "InferenceComponentName is not supported locally",
        ),
        ({"TargetModel": "x" * 1025}, "Member must have length less than or equal to 1024"),
        ({"TargetModel": "a\u00e9.tar.gz"}, "Member must satisfy regular expression pattern"),
    ],
)
def test_requests_that_cannot_be_served_are_validation_errors(
    shared: str, runtime: Any, refused: Refused, parameters: dict[str, Any], words: str
) -> None:
    call = {"EndpointName": shared, "Body": archives.body(1)} | parameters
    code, message = refused(runtime.invoke_endpoint, **call)
    assert code == "ValidationError"
    assert words in message


def test_an_error_of_the_model_is_a_model_error_with_its_message(shared: str, runtime: Any) -> None:
    with pytest.raises(runtime.exceptions.ModelError) as caught:
        runtime.invoke_endpoint(EndpointName=shared, TargetModel="one.tar.gz", Body=b'{"inputs": 1}')
    error = caught.value.response
    assert error["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert error["OriginalStatusCode"] == 400
    assert "inputs" in error["OriginalMessage"]
    assert error["LogStreamArn"].endswith(f"/logs/{shared}.log")
    assert "400" in error["Error"]["Message"]


def test_a_target_model_for_a_single_model_endpoint_is_refused(
    deployer: Deployer, runtime: Any, put: Put, refused: Refused
) -> None:
    put("alone.tar.gz", archives.model("alone"))
    deployer.single_model("alone", "alone.tar.gz")
    answer = runtime.invoke_endpoint(EndpointName="alone", Body=archives.body(7))["Body"].read()
    assert archives.values(answer) == [7]
    code, message = refused(
        runtime.invoke_endpoint, EndpointName="alone", TargetModel="alone.tar.gz", Body=archives.body(7)
    )
    assert code == "ValidationError"
    assert "is not a multi-model endpoint and does not support target model header" in message


def test_a_response_stream_has_the_answer_as_one_part(
    deployer: Deployer, runtime: Any, put: Put, refused: Refused
) -> None:
    put("streamed.tar.gz", archives.model("streamed"))
    deployer.single_model("streamed", "streamed.tar.gz")
    for count in (3, 100_000):  # the second one comes from the container in pieces
        body, content_type = binary(count)
        call = {"EndpointName": "streamed", "ContentType": content_type}
        reply = runtime.invoke_endpoint_with_response_stream(Body=body, **call)
        (event,) = reply["Body"]
        assert reply["InvokedProductionVariant"] == "AllTraffic"
        header = int(reply["ContentType"].removeprefix(BINARY))
        result = triton.InferenceServerClient.parse_response_body(event["PayloadPart"]["Bytes"], header_length=header)
        np.testing.assert_array_equal(result.as_numpy("Y"), np.arange(count, dtype=np.float32))
    code, message = refused(runtime.invoke_endpoint_with_response_stream, EndpointName="streamed", Body=b"{")
    assert (code, "(400)" in message or "(500)" in message) == ("ModelError", True)


def test_messages_have_the_paths_of_a_container_on_aws(deployer: Deployer, runtime: Any, put: Put) -> None:
    put("telling.tar.gz", archives.model("telling", execute="raise ValueError(__file__)"))
    put("untold.tar.gz", archives.model("untold", "raise ValueError(__file__)"))
    deployer.multi_model("telling")
    with pytest.raises(runtime.exceptions.ModelError) as caught:
        runtime.invoke_endpoint(EndpointName="telling", TargetModel="telling.tar.gz", Body=archives.body(1))
    for message in (caught.value.response["OriginalMessage"], caught.value.response["Error"]["Message"]):
        assert re.search(r"ValueError: /opt/ml/models/[0-9a-f]{32}/model/telling/1/model.py", message)
        assert "endpoints/" not in message
    deployer.single_model("untold", "untold.tar.gz", wait=False)
    with pytest.raises(WaiterError):
        deployer.sagemaker.get_waiter("endpoint_in_service").wait(EndpointName="untold", WaiterConfig=SOON)
    reason = deployer.sagemaker.describe_endpoint(EndpointName="untold")["FailureReason"]
    assert "ValueError: /opt/ml/model/untold/1/model.py" in reason
    assert "endpoints/" not in reason


def test_requests_are_shared_among_variants_by_weight(deployer: Deployer, runtime: Any, put: Put) -> None:
    for name, factor in (("light", 1), ("heavy", 2)):
        put(f"{name}.tar.gz", archives.model(name, execute=f"x = x * {factor}"))
        deployer.model(name, f"s3://models/{name}.tar.gz", "SingleModel")
    variants = [
        {
            "VariantName": name,
            "ModelName": name,
            "InitialInstanceCount": 1,
            "InstanceType": "ml.g5.xlarge",
            "InitialVariantWeight": weight,
        }
        for name, weight in (("light", 1.0), ("heavy", 9.0))
    ]
    deployer.sagemaker.create_endpoint_config(EndpointConfigName="weighed", ProductionVariants=variants)
    deployer.endpoint("weighed", "weighed")
    seen = {"light": 0, "heavy": 0}
    for _ in range(60):
        reply = runtime.invoke_endpoint(EndpointName="weighed", Body=archives.body(1))
        name = reply["InvokedProductionVariant"]
        assert archives.values(reply["Body"].read()) == [1 if name == "light" else 2]
        seen[name] += 1
    assert seen["heavy"] > seen["light"]
    reply = runtime.invoke_endpoint(EndpointName="weighed", TargetVariant="light", Body=archives.body(1))
    assert reply["InvokedProductionVariant"] == "light"
    shares = [{"VariantName": "light", "DesiredWeight": 1.0}, {"VariantName": "heavy", "DesiredWeight": 0.0}]
    deployer.sagemaker.update_endpoint_weights_and_capacities(
        EndpointName="weighed", DesiredWeightsAndCapacities=shares
    )
    deployer.sagemaker.get_waiter("endpoint_in_service").wait(EndpointName="weighed", WaiterConfig=SOON)
    for _ in range(10):
        reply = runtime.invoke_endpoint(EndpointName="weighed", Body=archives.body(1))
        assert reply["InvokedProductionVariant"] == "light"


def test_running_requests_are_answered_when_their_endpoint_is_deleted(
    deployer: Deployer, sagemaker: Any, runtime: Any, put: Put, refused: Refused, tmp_path: Path
) -> None:
    gate = archives.Gate(tmp_path)
    put("held.tar.gz", archives.model("held", execute=f"if x[0] > 1: {gate.wait}"))
    deployer.multi_model("leaving")
    call: dict[str, Any] = {"EndpointName": "leaving", "TargetModel": "held.tar.gz"}
    runtime.invoke_endpoint(Body=archives.body(0), **call)["Body"].read()
    answers: list[list[float]] = []

    def ask() -> None:
        answers.append(archives.values(runtime.invoke_endpoint(Body=archives.body(2), **call)["Body"].read()))

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(gate.reached)
    sagemaker.delete_endpoint(EndpointName="leaving")
    assert sagemaker.describe_endpoint(EndpointName="leaving")["EndpointStatus"] == "Deleting"
    code, message = refused(runtime.invoke_endpoint, Body=archives.body(0), **call)
    assert (code, message) == ("ValidationError", "Endpoint leaving of account 123456789012 not found. It is Deleting")
    gate.open()
    thread.join()
    assert answers == [[2]]


def test_a_client_that_hangs_up_affects_no_other(local: LocalEndpoint, shared: str, runtime: Any) -> None:
    body = archives.body(1)
    runtime.invoke_endpoint(EndpointName=shared, TargetModel="slow.tar.gz", Body=archives.body(0))["Body"].read()
    host, port = local.url.removeprefix("http://").split(":")
    head = f"POST /endpoints/{shared}/invocations HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n"
    head += "X-Amzn-SageMaker-Target-Model: slow.tar.gz\r\n\r\n"
    for part in (body, body[:5]):  # one that has asked, and one that has not even finished asking
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + part)
            time.sleep(0.2)
    reply = runtime.invoke_endpoint(EndpointName=shared, TargetModel="slow.tar.gz", Body=archives.body(0))
    assert archives.values(reply["Body"].read()) == [0]


def test_unsupported_operations_are_refused_by_name(
    shared: str, local: LocalEndpoint, runtime: Any, refused: Refused
) -> None:
    code, message = refused(
        runtime.invoke_endpoint_async, EndpointName=shared, InputLocation="s3://models/input", ContentType="a/b"
    )
    assert code == "ValidationError"
    assert "not supported locally" in message


def test_curl_needs_no_signature_and_foreign_web_pages_get_no_answer(local: LocalEndpoint, shared: str) -> None:
    """A browser sends requests to 127.0.0.1 for any page, and whoever can create models here can run code."""
    path, target = f"/endpoints/{shared}/invocations", {"X-Amzn-SageMaker-Target-Model": "one.tar.gz"}
    assert post(local, path, archives.body(1), target)[0] == 200
    foreign = target | {"Origin": "https://example.org"}
    assert post(local, path, archives.body(1), foreign)[0] == 403
    assert post(local, path, archives.body(1), target | {"Host": "rebound.example.org"})[0] == 403
    assert post(local, "/", b"{}", {"X-Amz-Target": "SageMaker.ListModels", "Origin": "null"})[0] == 403
    image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert post(local, path, None, image)[0] == 403
    assert post(local, "/", None, image | {"Sec-Fetch-Mode": "navigate"})[0] == 200  # a link to the status page
    presigned = "X-Amz-Credential=a%2F20260101%2Fus-east-1%2Fsagemaker%2Faws4_request&X-Amz-Signature=0"
    assert post(local, f"{path}?{presigned}", None, {})[0] == 400  # only POST invokes


def in_flight(local: LocalEndpoint) -> int:
    """The number of requests that endpoints are answering, on the status page."""
    with urllib.request.urlopen(local.url) as page:
        return sum(map(int, re.findall(r"in flight</dt><dd>(\d+)", page.read().decode())))


def test_a_client_that_does_not_read_its_answer_does_not_hold_the_model_for_ever(
    local: LocalEndpoint, shared: str, put: Put
) -> None:
    """Otherwise that model is never evicted, and deleting the endpoint waits for it."""
    put("wide.tar.gz", archives.model("wide", execute="x = np.tile(x, 3_000_000)"))
    body = archives.body(1)
    host, port = local.url.removeprefix("http://").split(":")
    head = f"POST /endpoints/{shared}/invocations HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n"
    head += "X-Amzn-SageMaker-Target-Model: wide.tar.gz\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((host, int(port)))
        connection.sendall(head.encode() + body)
        wait_until(lambda: in_flight(local) == 1)
        wait_until(lambda: in_flight(local) == 0)  # the endpoint waits for 60 s
