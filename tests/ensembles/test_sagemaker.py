"""Archives as SageMaker uses them: unpacked into an empty folder, loaded with POST /models, invoked, unloaded.

Those of the leading ensembles are in tests/deploy/test_local_endpoint.py.
"""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http

from checkout import ENSEMBLES
from tests.ensembles.clients import infer_over_http
from tests.ensembles.conftest import NAMES
from tests.running import sent
from triton_ensembles.building.built import Built
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.server.gateway_server import GatewayServer
from triton_ensembles.server.sagemaker_server import SageMakerServer
from triton_ensembles.triton.model_config import read_config

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SageMakerServer]:
    folder = tmp_path_factory.mktemp("sagemaker")
    (folder / "dummy").mkdir()
    with SageMakerServer(folder / "dummy", log=folder / "tritonserver.log") as server:
        yield server


def call(
    server: SageMakerServer, method: str, path: str, model: str, body: bytes = b"", **headers: str
) -> tuple[int, bytes]:
    """Send a request with the TargetModel header, which SageMaker sends on load, invoke and unload alike."""
    headers |= {"X-Amzn-SageMaker-Target-Model": model}
    return sent(server.sagemaker_url, method, path, body, headers)


@pytest.mark.parametrize("name", NAMES)
def test_the_archive_loads_answers_and_unloads(
    endpoint: SageMakerServer, small: dict[str, Built], small_server: GatewayServer, tmp_path: Path, name: str
) -> None:
    place = tmp_path / "models" / f"{name}0123" / "model"
    place.mkdir(parents=True)
    with tarfile.open(small[name].archive) as tar:
        tar.extractall(place, filter="data")
    target, hashed = f"{name}.tar.gz", f"{name}0123"
    load = json.dumps({"model_name": hashed, "url": str(place)}).encode()
    assert call(endpoint, "POST", "/models", target, load) == (200, b"")
    assert call(endpoint, "POST", "/models", target, load)[0] == 409

    config = read_config(ENSEMBLES / name / "ensemble" / "config.pbtxt")
    example = read_examples(ENSEMBLES / name).requests[0]
    body, length = http.InferenceServerClient.generate_request_body(example.infer_inputs())
    content_type = f"application/vnd.sagemaker-triton.binary+json;json-header-size={length}"
    status, answer = call(endpoint, "POST", f"/models/{hashed}/invoke", target, body, **{"Content-Type": content_type})
    assert status == 200
    header = answer.index(b"}]}") + 3
    found = http.InferenceServerClient.parse_response_body(answer, header_length=header)
    expected = infer_over_http(small_server.http_url, name, replace(example, outputs={})).as_numpy(
        config.output[0].name
    )
    answered = found.as_numpy(config.output[0].name)
    if expected.dtype == np.object_:
        np.testing.assert_array_equal(answered, expected)
    else:
        np.testing.assert_allclose(answered, expected, atol=1e-5)

    assert call(endpoint, "DELETE", f"/models/{hashed}", target)[0] == 200
    assert call(endpoint, "POST", f"/models/{hashed}/invoke", target, body, **{"Content-Type": content_type})[0] == 404
