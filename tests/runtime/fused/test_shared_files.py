"""Equal files of the ensembles of a multi-model endpoint, on the real server with SageMaker's routes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.fused.forms import stage_fused_form
from tests.runtime.fused.test_faults import ECHO, write
from triton_ensembles.triton.sagemaker_server import SageMakerServer

WEIGHTS = Path("steps/first/1/weights.bin")
SIZE = 3_000_000


class Endpoint:
    """Loads fused ensembles as SageMaker does: each archive has a folder of its own."""

    def __init__(self, server: SageMakerServer, folder: Path) -> None:
        self._server, self._folder = server, folder

    def stage(self, name: str, weights: bytes) -> Path:
        """Returns the version folder."""
        write(self._folder / "written" / name, 1, first=ECHO)
        (self._folder / "written" / name / "first" / "1" / "weights.bin").write_bytes(weights)
        (self._folder / name).mkdir()
        stage_fused_form(self._folder / "written" / name, self._folder / name)
        return self._folder / name / name / "1"

    def load(self, name: str) -> None:
        body = json.dumps({"model_name": name, "url": str(self._folder / name)}).encode()
        self._send("/models", body, name)

    def answer(self, name: str) -> list[float]:
        tensor = {"name": "X", "datatype": "FP32", "shape": [2], "data": [1, 2]}
        answer = json.loads(self._send(f"/models/{name}/invoke", json.dumps({"inputs": [tensor]}).encode(), name))
        return answer["outputs"][0]["data"]

    def _send(self, path: str, body: bytes, target: str) -> bytes:
        headers = {"X-Amzn-SageMaker-Target-Model": f"{target}.tar.gz", "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{self._server.sagemaker_url}{path}", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def endpoint(folder: Path) -> Iterator[Endpoint]:
    (folder / "empty").mkdir()
    with SageMakerServer(folder / "empty", {"SAGEMAKER_MULTI_MODEL": "true"}, log=folder / "log") as server:
        yield Endpoint(server, folder)


def test_equal_files_are_one(endpoint: Endpoint) -> None:
    """Otherwise a thousand variants of one pipeline would each take the memory of its libraries and weights."""
    one, same, other = (endpoint.stage(name, bytes([fill]) * SIZE) for name, fill in (("a", 1), ("b", 1), ("c", 2)))
    for name in "abc":
        endpoint.load(name)
    assert (same / WEIGHTS).samefile(one / WEIGHTS)
    assert not (other / WEIGHTS).samefile(one / WEIGHTS)
    assert (other / WEIGHTS).read_bytes() == bytes([2]) * SIZE
    assert {path.name for path in (same / WEIGHTS).parent.iterdir()} >= {"model.py", "weights.bin"}
    assert not list(same.rglob(".*"))
    (one / WEIGHTS).unlink()  # as when the first is evicted
    assert [endpoint.answer(name) for name in "abc"] == [[2, 3]] * 3


def test_a_damaged_file_is_not_taken_over(endpoint: Endpoint) -> None:
    """Otherwise one damaged archive would make others fail."""
    damaged, whole = endpoint.stage("damaged", bytes([3]) * SIZE), endpoint.stage("whole", bytes([3]) * SIZE)
    endpoint.load("damaged")
    (damaged / WEIGHTS).write_bytes(bytes(SIZE))
    endpoint.load("whole")
    assert (whole / WEIGHTS).read_bytes() == bytes([3]) * SIZE
    assert endpoint.answer("whole") == [2, 3]


def test_a_damaged_file_of_its_own_is_not_replaced_unseen(endpoint: Endpoint) -> None:
    """What is linked is what the plan says; what is not is still compared with it."""
    endpoint.stage("proven", bytes([4]) * SIZE)
    own = endpoint.stage("own", bytes([5]) * SIZE)
    (own / WEIGHTS).write_bytes(bytes([4]) * SIZE)
    endpoint.load("proven")
    with pytest.raises(urllib.error.HTTPError) as caught:
        endpoint.load("own")
    assert "weights.bin is damaged" in caught.value.read().decode()
