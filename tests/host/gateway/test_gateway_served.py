"""The gateway in front of a real Triton, started by its container's own entry point."""

import base64
import http.client
import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests

from checkout import ROOT
from tests.host.gateway.client import ATTRIBUTES, named, send
from tests.host.gateway.repository import write
from tests.processes import wait_until
from tests.running import connected, serving
from triton_ensembles.ground.processes import descendants
from triton_ensembles.server.gateway_server import GatewayServer

BINARY = "application/vnd.sagemaker-triton.binary+json"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("gateway"))


@pytest.fixture(scope="module")
def gateway(models: Path) -> Iterator[GatewayServer]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("AWS_SECRET_ACCESS_KEY", "of the developer")
        with serving(GatewayServer(models, {"OF_THE_CONTAINER": "1"})) as server:
            context.undo()
            yield server


FOUR = base64.b64encode(b"four").decode()
WORDS = [
    {"word": "a", "length": 1, "share": 0.25},
    {"word": "süß", "length": 3, "share": 0.75},
    {"word": "word", "length": 4, "share": 1.0},
]


@pytest.mark.parametrize(
    ("body", "name", "version", "result"),
    [
        (named("numbers", {"x": [1, 2.5]}), "numbers", "1", [2, 3.5]),
        (named("numbers", {"x": [1]}, version="2-beta"), "numbers", "2-beta", [10]),
        (named("numbers", {"x": [1]}, version=1), "numbers", "1", [2]),
        (named("size", {"img": FOUR}), "size", "1", [[4]]),
        (named("size", {"img": "data:image/png;base64," + FOUR}), "size", "1", [[4]]),
        (named("size", {"img": "_-8=\n"}), "size", "1", [[2]]),
        (named("size", {"img": "DATA:;BASE64,Zm91cg"}), "size", "1", [[4]]),
        (b'{"modelname": "words", "modelname": "numbers", "payload": {"x": [1]}}', "numbers", "1", [2]),
        (b"\xef\xbb\xbf" + json.dumps(named("numbers", {"x": []})).encode(), "numbers", "1", []),
        (named("words", {"text": "a süß word", "img": FOUR}), "words", "1", WORDS),
        (named("words", {"text": "word", "img": "MQ=="}), "words", "1", [{"word": "word", "length": 4, "share": None}]),
    ],
)
def test_the_clients_json_is_answered_by_name_and_version(
    gateway: GatewayServer, body: bytes | dict[str, Any], name: str, version: str, result: object
) -> None:
    answer = {"modelname": name, "version": version, "result": result}
    assert send(gateway, body) == (200, answer, "application/json")


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("image/jpeg", "modelname=size; version=1; trace=7"),
        ("image/png", "MODELNAME = size ,, Version=, c000b4f9-df62-4c85"),
        ("application/octet-stream", "modelname=size"),
    ],
)
def test_raw_bytes_are_the_payload_of_a_named_model(gateway: GatewayServer, kind: str, attributes: str) -> None:
    status, answer, _ = send(gateway, b"\xff\xd8\xff12345", kind, attributes)
    assert (status, answer["result"]) == (200, [[8]])


def test_kserve_bodies_pass_through_in_json_and_binary(gateway: GatewayServer) -> None:
    tensor = {"name": "X", "datatype": "FP32", "shape": [1, 2]}
    attributes = "modelname=numbers;version=2-beta"
    status, answer, _ = send(gateway, {"id": "7", "inputs": [{**tensor, "data": [1, 2]}]}, attributes=attributes)
    assert status == 200 and answer["id"] == "7" and answer["model_version"] == "2"
    assert answer["outputs"][0]["data"] == [10, 20]
    named_inside = {"modelname": "numbers", "version": 1, "inputs": [{**tensor, "data": [1, 2]}]}
    assert send(gateway, named_inside)[1]["outputs"][0]["data"] == [2, 3]

    content = np.array([1, 2], np.float32).tobytes()
    binary = {"inputs": [{**tensor, "parameters": {"binary_data_size": len(content)}}]}
    head = json.dumps({**binary, "outputs": [{"name": "Y", "parameters": {"binary_data": True}}]}).encode()
    status, content, kind = send(gateway, head + content, f"{BINARY};json-header-size={len(head)}", attributes)
    assert status == 200 and kind.startswith(f"{BINARY};json-header-size=")
    size = int(kind.partition("=")[2])
    assert json.loads(content[:size])["outputs"][0]["name"] == "Y"
    assert np.frombuffer(content[size:], np.float32).tolist() == [10, 20]


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (named("nobody", {}), 404, "there is no model 'nobody'; there are numbers, w"),
        (named("numbers", {"x": [1]}, version="9"), 404, "numbers has no version '9'"),
        (named("numbers", {"x": [1]}, version="01"), 404, "no version '01'; it has 1, 2-beta"),
        (named("numbers", {"x": [1]}, version=1.0), 400, "version must be a string or an int"),
        (named("numbers", {"x": [1]}, version=True), 400, "version must be a string or an int"),
        ({"modelname": ["size"], "payload": {}}, 400, "modelname must be a string"),
        ({"payload": {}}, 400, "modelname is missing"),
        ({"modelname": "numbers", "payload": 1}, 400, 'payload must be an object, such as {"x": []}'),
        (named("numbers", {"y": [1]}), 400, "payload.x is missing"),
        (named("numbers", {"x": [1], "y": 1}), 400, "payload.y is not a field of numbers"),
        (named("numbers", {"x": ["a"]}), 400, "payload.x cannot become a tensor of FP32"),
        (named("numbers", {"x": [[1]]}), 400, "payload.x has the dimensions [1, 1]"),
        (named("numbers", {"x": [1]}, vesion=1), 400, "did you mean 'version'"),
        (named("numbers", {"x": [1e40]}), 400, "payload.x cannot become a tensor of FP32: a num"),
        (named("numbers", {"x": [None]}), 400, "payload.x cannot become a tensor of FP32: null"),
        (b'{"modelname": "numbers", "payload": {"x": [NaN]}}', 400, "the body is not JSON"),
        ('{"modelname": "numbers"}'.encode("utf-16"), 400, "the body is not JSON in UTF-8"),
        (b"", 400, "the body is empty"),
        (named("size", {"img": "~~"}), 400, "payload.img is not base64"),
        (named("size", {"img": "data:image/png,x"}), 400, "payload.img is not base64"),
        (named("waits", {"path": "\ud800"}), 400, "the body is not JSON in UTF-8"),
        (named("size", {"img": ""}), 400, "payload.img is empty"),
        (named("size", {"img": 7}), 400, "payload.img must be a string"),
        (named("numbers", {"x": [-1]}), 500, "a negative number"),
        (b"{", 400, "the body is not JSON"),
        (b"[" * 50000, 400, "the body is not JSON"),
        ({"inputs": []}, 400, "name it by the header"),
    ],
)
def test_json_that_cannot_be_answered_is_refused_with_the_reason(
    gateway: GatewayServer, body: bytes | dict[str, Any], status: int, error: str
) -> None:
    answered, answer, _ = send(gateway, body)
    assert error in answer["error"] and answered == status


@pytest.mark.parametrize(
    ("body", "kind", "attributes", "status", "error"),
    [
        (b"text", "text/plain", "modelname=size", 400, "does not take one raw text: it needs img (base64)"),
        (b"\xff\xfe", "text/plain", "modelname=waits", 400, "payload.path is not UTF-8"),
        (b"bytes", "image/jpeg", "", 400, f"name it by the header {ATTRIBUTES}: modelname=numbers;version=1"),
        (b"bytes", "image/jpeg", "modelname=words", 400, "it needs text (text), img (base64)"),
        (b"x", "video/mp4", "modelname=size", 415, "Content-Type 'video/mp4' is not taken"),
        (b"x", f"{BINARY};json-header-size=9", "modelname=size", 400, "json-header-size"),
        ({"inputs": {}}, "application/json", "modelname=numbers", 400, "inputs must be a list"),
        (b"{}x", f"{BINARY};json-header-size=2", "modelname=numbers", 400, "inputs must be a list"),
        ({"inputs": [{"name": "Z"}]}, "application/json", "modelname=numbers", 400, "But no field is set"),
        (b"x" * 100_001, "image/jpeg", "modelname=size", 413, "larger than 100000 bytes"),
    ],
)
def test_other_bodies_that_cannot_be_answered_are_refused_with_the_reason(
    gateway: GatewayServer, body: bytes | dict[str, Any], kind: str, attributes: str, status: int, error: str
) -> None:
    answered, answer, _ = send(gateway, body, kind, attributes)
    assert error in answer["error"] and answered == status


def test_unknown_names_and_versions_are_answered_with_the_known_ones(gateway: GatewayServer) -> None:
    assert send(gateway, named("nobody", {}))[1]["models"] == ["numbers", "words", "size", "waits"]
    assert send(gateway, named("numbers", {}, version="9"))[1]["versions"] == ["1", "2-beta"]


def test_a_slow_model_holds_up_no_other_and_is_counted(gateway: GatewayServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(send, gateway, named("waits", {"path": str(gate)}))
        wait_until(gate.with_name("gate.reached").exists)
        assert send(gateway, named("numbers", {"x": [1]}))[1]["result"] == [2]
        gate.touch()
        assert slow.result()[1]["result"] == [str(gate)]
    assert 'host_requests_total{model="waits",status="200"} 1.0' in metrics(gateway)


def test_a_client_that_goes_away_and_a_late_answer_are_given_up(gateway: GatewayServer, tmp_path: Path) -> None:
    gone, late = tmp_path / "gone", tmp_path / "late"
    client = http.client.HTTPConnection(gateway.sagemaker_url)
    client.request("POST", "/invocations", json.dumps(named("waits", {"path": str(gone)})))
    wait_until(gone.with_name("gone.reached").exists)
    client.close()
    wait_until(lambda: "host_requests_in_flight 0.0" in metrics(gateway))
    gone.touch()  # Triton computes on

    status, answer, _ = send(gateway, named("waits", {"path": str(late)}, version="hasty"))
    assert (status, answer) == (504, {"error": "waits version hasty did not answer within 0.5 s"})
    late.touch()
    assert send(gateway, named("waits", {"path": str(gone)}))[1]["result"] == [str(gone)]


def test_models_that_no_table_has_are_answered_by_their_own_names_in_kserve_v2(gateway: GatewayServer) -> None:
    """Otherwise a single-model endpoint has no way to the models of a prefix: SageMaker has /invocations alone."""
    content = {"inputs": [{"name": "FILE", "datatype": "UINT8", "shape": [1, 2], "data": [1, 2]}]}
    status, answer, _ = send(gateway, content, attributes="modelname=file")
    assert (status, answer["model_name"], answer["outputs"][0]["data"]) == (200, "file", [2])
    status, answer, _ = send(gateway, content, attributes="modelname=file;version=1")
    assert status == 200 and answer["model_version"] == "1"
    for attributes, message in (
        ("modelname=numberz", "there is no model 'numberz'; did you mean 'numbers'?"),
        ("modelname=file;version=1/infer", "file has no version '1/infer': Triton's are numbers"),
    ):
        assert send(gateway, content, attributes=attributes)[:2] == (404, {"error": message})


@pytest.mark.parametrize(
    ("head", "status", "answer"),
    [
        ("GET /invocations HTTP/1.1", 405, b'{"error":"/invocations takes POST"}'),
        ("GET /models HTTP/1.1", 404, b'{"error":"there is no /models; there are /v2/models/NAME/infer, '),
        ("GET /ping HTTP/1.0", 200, b"\n"),
        ("rubbish", 400, b"Invalid method"),
        ("POST /invocations HTTP/1.1\r\nContent-Encoding: gzip", 415, b"Content-Encoding 'gzip' is not taken"),
        ("POST /invocations HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 100001", 413, b"larger than 100000 "),
    ],
)
def test_other_requests_are_answered_as_in_http(gateway: GatewayServer, head: str, status: int, answer: bytes) -> None:
    with connected(gateway.sagemaker_url) as client:
        client.sendall(f"{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        response = client.makefile("rb").read()
    assert int(response.split()[1]) == status
    assert answer in response


def test_models_see_the_environment_of_the_container_alone(gateway: GatewayServer) -> None:
    for pid in descendants(gateway.pid):
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        assert b"OF_THE_CONTAINER=1" in variables
        assert not [variable for variable in variables if variable.startswith(b"AWS_")]


def test_nothing_is_written_into_the_folder_that_is_watched(gateway: GatewayServer, models: Path) -> None:
    """Otherwise the host takes bytecode for a change, and loads every model again."""
    assert send(gateway, named("numbers", {"x": [1]}))[0] == 200
    assert not [*models.rglob("__pycache__")]


def metrics(server: GatewayServer) -> str:
    return requests.get(f"http://{server.sagemaker_url}/metrics", timeout=60).text


def test_the_health_check_passes_where_ping_does_and_fails_where_nothing_listens(gateway: GatewayServer) -> None:
    def passes(port: int) -> bool:
        environment = {"SAGEMAKER_BIND_TO_PORT": str(port), "PATH": "/usr/bin:/bin"}
        return not subprocess.run(["sh", ROOT / "gateway" / "healthy"], env=environment, capture_output=True).returncode

    wait_until(lambda: passes(gateway.ports.sagemaker))  # it waits 2 s for the answer, and Docker asks again
    assert not passes(1)
