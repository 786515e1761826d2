"""One cold start as SageMaker does it: the archive unpacked, POST /models, the first answer."""

import json
import os
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.process_usage import memory_by_process, seconds_of
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.processes import descendants
from triton_ensembles.triton.sagemaker_server import SageMakerServer

NO_AUTO_COMPLETE = "--disable-auto-complete-config"


@dataclass(frozen=True)
class ColdStart:
    """Times in seconds.

    Attributes:
        extract: the archive, by the local endpoint's own extraction.
        load: POST /models until its answer.
        first, second: a request with one text or image, and the same again.
        processor: user and system time of all processes until the first answer, including the extraction's.
        memory: bytes of PSS by process after the second answer.
    """

    extract: float
    load: float
    first: float
    second: float
    processor: float
    memory: Mapping[str, int]

    @property
    def total(self) -> float:
        return self.extract + self.load + self.first


@contextmanager
def multi_model_server(flags: str = "", *, verbose: bool = True) -> Iterator[tuple[SageMakerServer, Path]]:
    """An empty server with SageMaker's routes, and a folder for archives.

    Args:
        flags: further ones of tritonserver.
        verbose: SageMaker's default; it costs lines of log for each request.
    """
    variables = {"SAGEMAKER_MULTI_MODEL": "true", "SAGEMAKER_TRITON_ADDITIONAL_ARGS": flags}
    variables["SAGEMAKER_TRITON_LOG_VERBOSE"] = "true" if verbose else "false"
    with tempfile.TemporaryDirectory(prefix="start-") as scratch:
        (Path(scratch) / "empty").mkdir()
        with SageMakerServer(Path(scratch) / "empty", variables, log=Path(scratch) / "log") as server:
            yield server, Path(scratch)


def post(server: SageMakerServer, path: str, target: str, body: bytes, content_type: str = "application/json") -> float:
    """One POST to SageMaker's port with the TargetModel header; the seconds until its answer.

    Raises urllib.error.HTTPError.
    """
    headers = {"X-Amzn-SageMaker-Target-Model": target, "Content-Type": content_type}
    request = urllib.request.Request(f"http://{server.sagemaker_url}{path}", body, headers)
    began = time.perf_counter()
    with urllib.request.urlopen(request, timeout=300) as reply:
        reply.read()
    return time.perf_counter() - began


def load_model(server: SageMakerServer, hash: str, folder: Path, target: str) -> float:
    """POST /models; the seconds until its answer."""
    return post(server, "/models", target, json.dumps({"model_name": hash, "url": os.fspath(folder)}).encode())


def cold_start(archive: Path, payload: Payload, flags: str = "") -> ColdStart:
    """From the archive to two answers. Starts its own server before timing begins."""
    with multi_model_server(flags) as (server, scratch):
        invocation = (server, "/models/cold/invoke", archive.name, payload.body, payload.content_type)
        before, began = _processor_time(server.pid), time.perf_counter()
        extract(archive, scratch / "model", lambda _: None)
        extracted = time.perf_counter() - began
        loaded = load_model(server, "cold", scratch / "model", archive.name)
        first = post(*invocation)
        processor = _processor_time(server.pid) - before
        second = post(*invocation)
        return ColdStart(extracted, loaded, first, second, processor, memory_by_process(server.pid))


def _processor_time(pid: int) -> float:
    """Of this process, and of the server with all its children, those that have ended included."""
    servers = sum(seconds_of(each, with_ended_children=True) for each in (pid, *descendants(pid)))
    return servers + seconds_of(os.getpid())
