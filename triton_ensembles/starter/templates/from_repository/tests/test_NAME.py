"""The answers that clients of @NAME@ get from the real tritonserver: the fixture triton_server starts it."""

from pathlib import Path

import pytest
from triton_ensembles.project.examples.folder import read_examples
from tritonclient import http

ENSEMBLE = Path(__file__).parents[1] / "ensembles" / "@NAME@"
EXAMPLES = read_examples(ENSEMBLE)


@pytest.fixture(scope="module")
def client(triton_server):
    with http.InferenceServerClient(triton_server(ENSEMBLE).http_url) as client:
        yield client


def test_it_is_ready(client):
    assert client.is_model_ready("@NAME@")


@pytest.mark.parametrize("request_", EXAMPLES.requests, ids=lambda each: each.label)
def test_an_example_request_gets_every_output(client, request_):
    outputs = request_.requested_outputs() or None
    result = client.infer("@NAME@", request_.infer_inputs(), outputs=outputs)
    for tensor in client.get_model_metadata("@NAME@")["outputs"]:
        if not request_.outputs or tensor["name"] in request_.outputs:
            assert result.as_numpy(tensor["name"]) is not None
