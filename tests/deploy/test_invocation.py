"""InvokeEndpoint on a model that is not loaded, and where nobody answers; the errors of models are in
test_local_endpoint.py."""

import io

import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from triton_ensembles.deploy import invocation
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.invocation import Answer, invoke_model
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.ground.errors import EnsembleError

PAYLOAD = Payload(b"[1]", "application/json")


def invoked(lines: list[str], cold: int, patience: float = 480) -> Answer:
    """Invoke a model that is ready after ``cold`` answers."""
    aws = Aws()
    asked = {"EndpointName": "an-endpoint", "TargetModel": "team/m.tar.gz"}
    answer = {"Body": StreamingBody(io.BytesIO(b"{}"), 2), "ContentType": "application/json"}
    with Stubber(aws.runtime) as stub:
        for _ in range(cold):
            stub.add_client_error("invoke_endpoint", "ModelNotReadyException", "the model is being loaded", 429)
        stub.add_response("invoke_endpoint", answer, asked | {"ContentType": PAYLOAD.content_type, "Body": b"[1]"})
        return invoke_model(aws, "an-endpoint", "team/m.tar.gz", PAYLOAD, lines.append, patience)


def test_a_cold_start_is_waited_for(credentials: None, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is repeated until the model has answered, or patience ends, and each wait is reported."""
    monkeypatch.setattr(invocation, "FIRST_PAUSE", 0.01)
    answer = invoked(lines, cold=3)
    assert (answer.body, answer.tries, len(lines)) == (b"{}", 4, 3)
    assert lines[0].startswith("team/m.tar.gz is being loaded (a cold start)")
    with pytest.raises(EnsembleError, match=r"was still being loaded after .* s and \d+ tries"):
        invoked(lines, cold=100, patience=0.2)


def test_an_endpoint_that_does_not_answer(credentials: None, monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
    """The error says which settings to check."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(EnsembleError, match="check the network, AWS_DEFAULT_REGION and AWS_ENDPOINT_URL"):
        invoke_model(Aws(), "an-endpoint", "m.tar.gz", PAYLOAD, lines.append)
