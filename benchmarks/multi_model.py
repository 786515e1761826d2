"""An empty tritonserver with SageMaker's routes, as a multi-model endpoint has it, and requests to these routes."""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from triton_ensembles.server.sagemaker_server import SageMakerServer
from triton_ensembles.server.sockets import connection_to

NO_AUTO_COMPLETE = "--disable-auto-complete-config"  # as deploy sets it; SageMaker's default takes a second longer


@contextmanager
def multi_model_server(flags: str = NO_AUTO_COMPLETE) -> Iterator[tuple[SageMakerServer, Path]]:
    """The server, and a folder for archives, of which ``tmp`` is the server's TMPDIR.

    Args:
        flags: further ones of tritonserver.
    """
    variables = {"SAGEMAKER_MULTI_MODEL": "true", "SAGEMAKER_TRITON_ADDITIONAL_ARGS": flags}
    variables["SAGEMAKER_TRITON_LOG_VERBOSE"] = "false"  # SageMaker's default costs lines of log for each request
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        scratch = Path(folder)
        for name in ("empty", "tmp"):
            (scratch / name).mkdir()
        variables["TMPDIR"] = os.fspath(scratch / "tmp")
        with SageMakerServer(scratch / "empty", variables, log=scratch / "log") as server:
            yield server, scratch


def load_model(server: SageMakerServer, hash: str, folder: Path, target: str) -> float:
    """POST /models; the seconds until its answer."""
    return send(server, "POST", "/models", target, json.dumps({"model_name": hash, "url": os.fspath(folder)}).encode())


def send(
    server: SageMakerServer, method: str, path: str, target: str, body: bytes = b"", kind: str = "application/json"
) -> float:
    """Send a request with the TargetModel header ``target``; the seconds until its answer. Raises RuntimeError."""
    headers = {"X-Amzn-SageMaker-Target-Model": target, "Content-Type": kind}
    with closing(connection_to(server.sagemaker_url, 300)) as connection:
        began = time.perf_counter()
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        text = reply.read()
        seconds = time.perf_counter() - began
    if reply.status != 200:
        raise RuntimeError(f"{reply.status} {text[:300]!r}")
    return seconds
