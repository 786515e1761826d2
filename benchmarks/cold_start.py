"""One cold start as SageMaker does it: archive unpacked, POST /models, first answer; and what an unload leaves."""

import json
import os
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.process_usage import seconds_of
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.endpoint.hosting.environment_sizes import EnvironmentSizes
from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.errors import EnsembleError
from triton_ensembles.processes import descendants
from triton_ensembles.triton.sagemaker_server import SageMakerServer

NO_AUTO_COMPLETE = "--disable-auto-complete-config"  # as deploy sets it; SageMaker's default takes a second longer
_GONE_SECONDS = 30.0  # for the processes of an unloaded model


@dataclass(frozen=True)
class ColdStart:
    """Times in seconds.

    Attributes:
        extract: the archive, by the local endpoint's own extraction.
        load: POST /models until its answer.
        first: a request with one text.
        processor: user and system time of all processes until the first answer, including the extraction's.
        left: bytes in the server's temporary folders after the model was unloaded.
    """

    extract: float
    load: float
    first: float
    processor: float
    left: int

    @property
    def total(self) -> float:
        return self.extract + self.load + self.first


@contextmanager
def multi_model_server(flags: str = NO_AUTO_COMPLETE) -> Iterator[tuple[SageMakerServer, Path]]:
    """An empty server with SageMaker's routes, and a folder for archives, of which ``tmp`` is the server's TMPDIR.

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
    return _send(server, "POST", "/models", target, json.dumps({"model_name": hash, "url": os.fspath(folder)}).encode())


def cold_start(archive: Path, payload: Payload, flags: str = NO_AUTO_COMPLETE) -> ColdStart:
    """From the archive to an answer, and to the unload. Starts its own server before timing begins."""
    with multi_model_server(flags) as (server, scratch):
        before, began = _processor_time(server.pid), time.perf_counter()
        extract(archive, scratch / "model", lambda _: None)
        extracted = time.perf_counter() - began
        loaded = load_model(server, "cold", scratch / "model", archive.name)
        invoke = "/models/cold/invoke"
        first = _send(server, "POST", invoke, archive.name, payload.body, payload.content_type)
        processor = _processor_time(server.pid) - before
        _send(server, "DELETE", "/models/cold", archive.name)
        _wait_for_steps(server.pid)
        left = EnvironmentSizes().total({*server.note_environments(), scratch / "tmp"})
        return ColdStart(extracted, loaded, first, processor, left)


def _send(
    server: SageMakerServer, method: str, path: str, target: str, body: bytes = b"", kind: str = "application/json"
) -> float:
    """One request to SageMaker's port with the TargetModel header; the seconds until its answer.

    Raises urllib.error.HTTPError.
    """
    headers = {"X-Amzn-SageMaker-Target-Model": target, "Content-Type": kind}
    request = urllib.request.Request(f"http://{server.sagemaker_url}{path}", body or None, headers, method=method)
    began = time.perf_counter()
    with urllib.request.urlopen(request, timeout=300) as reply:
        reply.read()
    return time.perf_counter() - began


def _wait_for_steps(pid: int) -> None:
    """Triton answers an unload before its steps have ended."""
    end = time.monotonic() + _GONE_SECONDS
    while descendants(pid):
        if time.monotonic() > end:
            raise EnsembleError(f"the steps of an unloaded ensemble did not end within {_GONE_SECONDS:.0f} s")
        time.sleep(0.1)


def _processor_time(pid: int) -> float:
    """Of this process, and of the server with all its children, those that have ended included."""
    servers = sum(seconds_of(each, with_ended_children=True) for each in (pid, *descendants(pid)))
    return servers + seconds_of(os.getpid())
