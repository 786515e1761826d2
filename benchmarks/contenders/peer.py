"""A peer: started on a free port, sent JSON over HTTP, and compared with our vectors before it is measured."""

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.cells import Cell, rate
from benchmarks.engines import Array
from benchmarks.examples import lowest_cosine
from benchmarks.http_load import HttpTarget, post, request_each, run_load
from benchmarks.loads import Load, short_texts
from benchmarks.peers.servers import NAME, Peer
from benchmarks.process_usage import Usage, seconds_of_all
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import die_with_parent, end
from triton_ensembles.hosting.cpu import processor_seconds

READY_SECONDS = 180
LEAST_COSINE = 0.999
_HOST = "127.0.0.1"
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "INFINITY_ANONYMOUS_USAGE_STATS": "0",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "true",
}


@dataclass
class RunningPeer:
    """A peer that answers on ``port``, under load by the light client of :mod:`benchmarks.http_load`.

    Attributes:
        texts_from: the built repository whose tokenizer counts the texts.
        pid: of the server.
    """

    name: str
    about: str
    loads: Sequence[Load]
    texts_from: Path
    pid: int
    port: int

    def warm_up(self, load: Load) -> None:
        run_load(self._target(load), load.concurrency, 1, 0)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        target = self._target(load)
        before = self._processor_time()
        answers = run_load(target, load.concurrency, seconds, warm_up)
        usage = self._processor_time().cores(before, seconds + warm_up)
        if not answers.finished or answers.finished[-1] - answers.finished[0] < seconds / 2:  # one burst has no rate
            raise EnsembleError(f"{self.name} answers too slowly to be measured in {seconds:.1f} s")
        rows = [load.rows * number for number in range(len(answers.finished))]
        return Cell(rate(answers.finished, rows), 1000 * median(answers.latencies), *usage)

    def _target(self, load: Load) -> HttpTarget:
        texts = short_texts(self.texts_from)
        return _target(self.port, [texts[start : start + load.rows] for start in range(0, len(texts), load.rows)])

    def _processor_time(self) -> Usage:
        return Usage(processor_seconds(os.getpid()), seconds_of_all(self.pid))


@contextmanager
def running_peer(
    peer: Peer,
    venv: Path,
    model: Path,
    loads: Sequence[Load],
    *,
    texts_from: Path,
    expected: tuple[Sequence[str], Array],
) -> Iterator[RunningPeer]:
    """Start one peer in its own process.

    Args:
        expected: texts, and our vectors FP32 [texts, 384] of them; the peer's must point the same way.
    """
    with socket.create_server((_HOST, 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryFile(prefix="bench-") as log:
        process = subprocess.Popen(
            peer.command(venv, port),
            cwd=model,
            env=os.environ | _OFFLINE | {"MODEL": os.fspath(model)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
        try:
            if not _answers(port, process):
                log.seek(0)
                last = log.read().decode(errors="replace").strip().splitlines()[-3:]
                raise EnsembleError(f"{peer.name} did not start: {' / '.join(last)}")
            cosine = _lowest_cosine(port, *expected)
            if cosine < LEAST_COSINE:
                raise EnsembleError(
                    f"{peer.name} answers with different vectors: the lowest cosine to ours is {cosine:.4f}"
                )
            about = f"{peer.about(venv)}; cosine to ours at least {cosine:.6f}"
            yield RunningPeer(peer.name, about, loads, texts_from, process.pid, port)
        finally:
            end(process, seconds=20)


def _target(port: int, requests: Sequence[Sequence[str]]) -> HttpTarget:
    bodies = [json.dumps({"model": NAME, "input": list(texts)}).encode() for texts in requests]
    headers = {"Content-Type": "application/json"}
    return HttpTarget(f"{_HOST}:{port}", [post("/embeddings", headers, body) for body in bodies])


def _answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the process answers; False if it ends before, or takes too long."""
    limit = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < limit:
        try:
            request_each(_target(port, [["Is the server ready?"]]))
            return True
        except (OSError, RuntimeError):
            time.sleep(0.2)
    return False


def _lowest_cosine(port: int, texts: Sequence[str], ours: Array) -> float:
    answers = [json.loads(body) for body in request_each(_target(port, [[text] for text in texts]))]
    theirs = np.array([answer["data"][0]["embedding"] for answer in answers], np.float32)
    return lowest_cosine(ours, theirs)
