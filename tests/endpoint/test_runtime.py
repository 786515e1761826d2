"""InvokeEndpoint through boto3, against the real Triton."""

import http.client
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
import tritonclient.http as triton

from tests.endpoint.conftest import Deployer, ask, page, refused
from tests.endpoint.test_metrics import samples
from tests.hosting import archives
from tests.processes import wait_until
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.sagemaker.contract import LARGEST_BODY

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="


def binary(count: int) -> tuple[bytes, str]:
    """A body of tritonclient with ``count`` numbers, and its Content-Type."""
    tensor = triton.InferInput("X", [count], "FP32")
    tensor.set_data_from_numpy(np.arange(count, dtype=np.float32))
    output = triton.InferRequestedOutput("Y", binary_data=True)
    body, length = triton.InferenceServerClient.generate_request_body([tensor], outputs=[output])
    return body, f"{BINARY}{length}"


def numbers(reply: Any, body: bytes) -> Any:
    """Y of a reply in binary, whose JSON is as long as Triton writes into Content-Type."""
    header = int(reply["ContentType"].removeprefix(BINARY))
    return triton.InferenceServerClient.parse_response_body(body, header_length=header).as_numpy("Y")


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


def test_a_target_model_may_begin_with_the_slash_that_the_prefix_lacks(deployer: Deployer, runtime: Any) -> None:
    """AWS concatenates the two; its own notebook leaves the slash to TargetModel."""
    deployer.put("prefix/one.tar.gz", archives.model("one"))
    deployer.multi_model("slash", "s3://models/prefix")
    for target in ("/one.tar.gz", "one.tar.gz", "/one.tar.gz"):
        assert ask(runtime, "slash", target, 3) == [3]
    assert "prefix//one.tar.gz" in refused(lambda: ask(runtime, "slash", "//one.tar.gz", 3))[1]


def test_a_body_of_exactly_6_mib_is_taken_and_one_byte_more_is_not(shared: str, runtime: Any) -> None:
    body, content_type = binary(1_572_000)
    length, spaces = int(content_type.removeprefix(BINARY)), LARGEST_BODY - len(body)
    body = body[:length] + b" " * spaces + body[length:]
    call = {"EndpointName": shared, "TargetModel": "one.tar.gz", "ContentType": f"{BINARY}{length + spaces}"}
    reply = runtime.invoke_endpoint(Body=body, **call)
    np.testing.assert_array_equal(numbers(reply, reply["Body"].read()), np.arange(1_572_000, dtype=np.float32))
    with pytest.raises(runtime.exceptions.ClientError) as caught:
        runtime.invoke_endpoint(Body=body + b" ", **call)
    error = caught.value.response
    assert error["ResponseMetadata"]["HTTPStatusCode"] == 413
    assert error["Error"] == {"Code": "413", "Message": f"HTTP content length exceeded {LARGEST_BODY} bytes."}


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
    url, headers = f"{local.url}/endpoints/{shared}/invocations", {"X-Amzn-SageMaker-Target-Model": "one.tar.gz"}
    reply = requests.post(url, iter([archives.body(4, 5)]), headers=headers, timeout=300)
    assert archives.values(reply.content) == [4, 5]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"EndpointName": "nobody"}, "Endpoint nobody of account 123456789012 not found."),
        ({}, "missing a target model header"),
        ({"TargetModel": "one.tar.gz", "TargetVariant": "Other"}, "Variant Other not found"),
        ({"TargetModel": "one.tar.gz", "InferenceComponentName": "c"}, "InferenceComponentName is not supported"),
        ({"TargetModel": "x" * 1025}, "Member must have length less than or equal to 1024"),
    ],
)
def test_requests_that_cannot_be_served_are_validation_errors(
    shared: str, runtime: Any, parameters: dict[str, Any], words: str
) -> None:
    call = {"EndpointName": shared, "Body": archives.body(1)} | parameters
    code, message = refused(runtime.invoke_endpoint, **call)
    assert code == "ValidationError"
    assert words in message


def test_the_error_of_a_model_has_the_paths_of_a_container(
    deployer: Deployer, shared: str, runtime: Any, local: LocalEndpoint
) -> None:
    """And where people look, it is short."""
    deployer.put("telling.tar.gz", archives.model("telling", execute="raise ValueError(__file__ + 'x' * (1 << 20))"))
    with pytest.raises(runtime.exceptions.ModelError) as caught:
        ask(runtime, shared, "telling.tar.gz", 1)
    error = caught.value.response
    assert (error["ResponseMetadata"]["HTTPStatusCode"], error["OriginalStatusCode"]) == (424, 400)
    assert error["LogStreamArn"].endswith(f"/logs/{shared}.log")
    assert "400" in error["Error"]["Message"]
    for message in (error["OriginalMessage"], error["Error"]["Message"]):
        assert re.search(r"ValueError: /opt/ml/models/[0-9a-f]{32}/model/telling/1/model.py", message)
        assert "endpoints/" not in message
    assert len(error["OriginalMessage"]) > 1 << 20 > len(page(local))


def test_a_single_model_endpoint_takes_no_target_model_and_answers_at_once(deployer: Deployer, runtime: Any) -> None:
    deployer.single_model("alone", archives.model())
    assert ask(runtime, "alone", None, 7) == [7]
    code, message = refused(lambda: ask(runtime, "alone", "alone.tar.gz", 7))
    assert code == "ValidationError"
    assert "is not a multi-model endpoint and does not support target model header" in message
    stream = refused(runtime.invoke_endpoint_with_response_stream, EndpointName="alone", Body=b"{")
    later = refused(runtime.invoke_endpoint_async, EndpointName="alone", InputLocation="s3://models/input")
    for (code, message), words in ((stream, "use InvokeEndpoint"), (later, "not supported locally")):
        assert (code, words in message) == ("ValidationError", True)


def test_requests_are_answered_when_their_endpoint_is_deleted(
    deployer: Deployer, local: LocalEndpoint, runtime: Any, tmp_path: Path
) -> None:
    gate = archives.Gate(tmp_path)
    deployer.put("held.tar.gz", archives.model("held", execute=f"if x[0] > 1: {gate.wait}"))
    deployer.multi_model("leaving")
    ask(runtime, "leaving", "held.tar.gz", 0)
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(ask, runtime, "leaving", "held.tar.gz", 2)
        wait_until(gate.reached)
        deployer.sagemaker.delete_endpoint(EndpointName="leaving")
        assert deployer.sagemaker.describe_endpoint(EndpointName="leaving")["EndpointStatus"] == "Deleting"
        error = refused(lambda: ask(runtime, "leaving", "held.tar.gz", 0))
        assert error == ("ValidationError", "Endpoint leaving of account 123456789012 not found. It is Deleting")
        gate.open()
        assert answer.result() == [2]
    wait_until(lambda: not samples(local, "leaving"))  # else endpoints of an hour fill /metrics
