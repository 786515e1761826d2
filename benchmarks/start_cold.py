"""One cold start as SageMaker does it: the archive unpacked, POST /models, the first answer."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from benchmarks.start_log import Load, read_load
from benchmarks.start_memory import memory_by_process
from benchmarks.start_phases import Phases, time_phases
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.processes import descendants
from triton_ensembles.triton.sagemaker_server import SageMakerServer

NO_AUTO_COMPLETE = "--disable-auto-complete-config"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ColdStart:
    """Seconds, unless it says otherwise.

    Attributes:
        extract: the archive, by the local endpoint's own extraction.
        load: POST /models until its answer.
        first, second: a request with one text or image, and the same again.
        processor: user and system time of all processes until the first answer, that of the extraction included.
        details: what the server's log says of the load.
        phases: of each step, in a process of its own; empty unless asked for.
        memory: bytes of PSS by process after the second answer.
    """

    extract: float
    load: float
    first: float
    second: float
    processor: float
    details: Load
    phases: Mapping[str, Phases] = field(default_factory=dict)
    memory: Mapping[str, int] = field(default_factory=dict)

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


def ask(server: SageMakerServer, path: str, target: str, body: bytes, content_type: str = "application/json") -> bytes:
    """One POST to SageMaker's port with the TargetModel header. Raises urllib.error.HTTPError."""
    headers = {"X-Amzn-SageMaker-Target-Model": target, "Content-Type": content_type}
    request = urllib.request.Request(f"http://{server.sagemaker_url}{path}", body, headers)
    with urllib.request.urlopen(request, timeout=300) as reply:
        return bytes(reply.read())


def load_model(server: SageMakerServer, hash: str, folder: Path, target: str) -> float:
    """POST /models; gives the seconds until its answer."""
    began = time.perf_counter()
    ask(server, "/models", target, json.dumps({"model_name": hash, "url": os.fspath(folder)}).encode())
    return time.perf_counter() - began


def cold_start(archive: Path, payload: Payload, *, flags: str = "", with_phases: bool = False) -> ColdStart:
    """A server of its own, started before the clock; then from the archive to two answers."""
    with multi_model_server(flags) as (server, scratch):
        folder = scratch / "model"
        before = _processor_time(server.pid)
        moments = [time.perf_counter()]
        extract(archive, folder, lambda _: None)
        moments.append(time.perf_counter())
        load_model(server, "cold", folder, archive.name)
        moments.append(time.perf_counter())
        for _ in range(2):
            ask(server, "/models/cold/invoke", archive.name, payload.body, payload.content_type)
            if len(moments) == 3:
                processor = _processor_time(server.pid) - before
            moments.append(time.perf_counter())
        details = read_load(server.log.read_text(errors="replace"))
        memory = memory_by_process(server.pid)
        phases = {}
        if with_phases:
            phases = {name: time_phases(name, step, folder) for name, step in details.steps.items()}
    extracted, loaded, first, second = (later - earlier for earlier, later in pairwise(moments))
    return ColdStart(extracted, loaded, first, second, processor, details, phases, memory)


def _processor_time(pid: int) -> float:
    """Of this process, and of the server with all its children, those that have ended included."""
    times = os.times()
    total = times.user + times.system
    for each in (pid, *descendants(pid)):
        try:
            fields = re.split(r"\) ", Path(f"/proc/{each}/stat").read_text())[-1].split()
        except OSError:
            continue
        total += sum(int(value) for value in fields[11:15]) / _TICKS  # utime, stime, cutime, cstime
    return total
