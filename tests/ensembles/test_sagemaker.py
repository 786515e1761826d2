"""Archives as SageMaker uses them: unpacked into an empty folder, loaded with POST /models, invoked, unloaded.

Those of the leading ensembles are in tests/deploy/test_local_endpoint.py.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import tritonclient.http as http

from checkout import ENSEMBLES
from tests.ensembles.clients import infer_over_http
from tests.ensembles.conftest import NAMES
from tests.runtime.fused.endpoint import Endpoint, RefusedError, multi_model_endpoint
from triton_ensembles.building.built import Built
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.server.gateway_server import GatewayServer
from triton_ensembles.triton.model_config import read_config

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with multi_model_endpoint(tmp_path_factory.mktemp("sagemaker")) as endpoint:
        yield endpoint


@pytest.mark.parametrize("name", NAMES)
def test_the_archive_loads_answers_and_unloads(
    endpoint: Endpoint, small: dict[str, Built], small_server: GatewayServer, name: str
) -> None:
    hashed = f"{name}0123"
    with tarfile.open(small[name].archive) as tar:
        tar.extractall(endpoint.folder / hashed, filter="data")
    endpoint.load(hashed)
    with pytest.raises(RefusedError, match=r"^409"):
        endpoint.load(hashed)
    config = read_config(ENSEMBLES / name / "ensemble" / "config.pbtxt")
    example = read_examples(ENSEMBLES / name).requests[0]
    body, length = http.InferenceServerClient.generate_request_body(example.infer_inputs())
    content_type = f"application/vnd.sagemaker-triton.binary+json;json-header-size={length}"
    answer = endpoint.invoke(hashed, body, content_type)
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

    endpoint.unload(hashed)
    with pytest.raises(RefusedError, match=r"^404"):
        endpoint.invoke(hashed, body, content_type)
