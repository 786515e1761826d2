"""A peer: started on a free port, sent JSON over HTTP, and compared with our vectors before it is measured."""

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.answers import lowest_cosine
from benchmarks.contenders.http_contender import HttpContender, MakeTarget
from benchmarks.engines import Array
from benchmarks.http_load import HttpTarget, post, request_each
from benchmarks.loads import Load
from benchmarks.peers.servers import NAME, Peer
from triton_ensembles.errors import EnsembleError
from triton_ensembles.processes import die_with_parent

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


@contextmanager
def running_peer(
    peer: Peer,
    venv: Path,
    model: Path,
    loads: Sequence[Load],
    *,
    texts_from: Path,
    expected: tuple[Sequence[str], Array],
) -> Iterator[HttpContender]:
    """One peer, in its own process.

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
            target = partial(_target, port)
            if not _answers(target, process):
                log.seek(0)
                last = log.read().decode(errors="replace").strip().splitlines()[-3:]
                raise EnsembleError(f"{peer.name} did not start: {' / '.join(last)}")
            cosine = _lowest_cosine(target, *expected)
            if cosine < LEAST_COSINE:
                raise EnsembleError(
                    f"{peer.name} answers with different vectors: the lowest cosine to ours is {cosine:.4f}"
                )
            about = f"{peer.about(venv)}; cosine to ours at least {cosine:.6f}"
            yield HttpContender(peer.name, about, loads, texts_from, process.pid, target)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _target(port: int, requests: Sequence[Sequence[str]]) -> HttpTarget:
    bodies = [json.dumps({"model": NAME, "input": list(texts)}).encode() for texts in requests]
    headers = {"Content-Type": "application/json"}
    return HttpTarget(_HOST, port, [post(_HOST, port, "/embeddings", headers, body) for body in bodies])


def _answers(target: MakeTarget, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the process answers; False if it ends before, or takes too long."""
    end = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            request_each(target([["Is the server ready?"]]))
            return True
        except (OSError, RuntimeError, EOFError):
            time.sleep(0.2)
    return False


def _lowest_cosine(target: MakeTarget, texts: Sequence[str], ours: Array) -> float:
    answers = [json.loads(body) for body in request_each(target([[text] for text in texts]))]
    theirs = np.array([answer["data"][0]["embedding"] for answer in answers], np.float32)
    return lowest_cosine(ours, theirs)
