"""InvokeEndpoint over a real socket: a server that sends SageMaker's answers, and the real botocore."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from triton_ensembles.deploy import invocation
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.invocation import invoke_model
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.ground.errors import EnsembleError

Answer = tuple[int, str, dict[str, Any]]
Served = tuple[list[Answer], list[dict[str, str]]]
COLD: Answer = (429, "ModelNotReadyException", {"Message": "the model is being loaded"})
PAYLOAD = Payload(b"[1]", "application/json")


@pytest.fixture
def served(credentials: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The answers that the next requests get, and the headers of the requests so far."""
    answers: list[Answer] = []
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(dict(self.headers))
            status, code, content = answers.pop(0) if answers else (200, "", {"fine": True})
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if code:
                self.send_header("x-amzn-ErrorType", code)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(invocation, "FIRST_PAUSE", 0.01)
    yield answers, asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_cold_start_is_waited_for(served: Served, lines: list[str]) -> None:
    """The request is repeated until the model has answered, and each wait is reported."""
    answers, asked = served
    answers += [COLD] * 3
    answer = invoke_model(Aws(), "an-endpoint", "team/m.tar.gz", PAYLOAD, lines.append)
    assert (json.loads(answer.body), answer.tries, len(asked)) == ({"fine": True}, 4, 4)
    assert asked[0]["X-Amzn-SageMaker-Target-Model"] == "team/m.tar.gz"
    assert lines[0].startswith("team/m.tar.gz is being loaded (a cold start)")


def test_waiting_ends_after_the_patience(served: Served, lines: list[str]) -> None:
    """Otherwise the command would wait forever for a model that never loads."""
    served[0].extend([COLD] * 100)
    with pytest.raises(EnsembleError, match=r"was still being loaded after .* s and \d+ tries"):
        invoke_model(Aws(), "an-endpoint", "m.tar.gz", PAYLOAD, lines.append, patience=0.2)


def test_the_error_of_the_model_reaches_the_user(served: Served, lines: list[str]) -> None:
    """With where to read more; the request is not repeated."""
    error = {
        "Message": "Received client error (400) from primary",
        "OriginalStatusCode": 400,
        "OriginalMessage": "unexpected shape for input 'INPUT0'",
        "LogStreamArn": "arn:aws:logs:eu-central-1:1:log-group:/aws/sagemaker/Endpoints/e",
    }
    answers, asked = served
    answers.append((424, "ModelError", error))
    with pytest.raises(EnsembleError, match="answered 400: unexpected shape for input 'INPUT0'; the endpoint's log"):
        invoke_model(Aws(), "an-endpoint", "m.tar.gz", PAYLOAD, lines.append)
    assert len(asked) == 1


def test_an_endpoint_that_does_not_answer(credentials: None, monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
    """The error says which settings to check."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(EnsembleError, match="check the network, AWS_DEFAULT_REGION and AWS_ENDPOINT_URL"):
        invoke_model(Aws(), "an-endpoint", "m.tar.gz", PAYLOAD, lines.append)
