"""A peer: started on a free port, sent JSON over HTTP, and compared with our vectors before it is measured."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.contenders.http_contender import HttpContender
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


class PeerServer(HttpContender):
    """One peer, in its own process.

    Args:
        expected: texts, and our vectors FP32 [texts, 384] of them; the peer's must point the same way.
    """

    def __init__(
        self,
        peer: Peer,
        venv: Path,
        model: Path,
        loads: Sequence[Load],
        *,
        texts_from: Path,
        expected: tuple[Sequence[str], Array],
    ) -> None:
        super().__init__(peer.name, loads, texts_from)
        self.about = peer.about(venv)
        self._peer, self._venv, self._model, self._expected = peer, venv, model, expected
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with socket.create_server((_HOST, 0)) as free:
            self._port = free.getsockname()[1]
        self._log = tempfile.TemporaryFile(prefix="bench-")  # noqa: SIM115
        self._process = subprocess.Popen(
            self._peer.command(self._venv, self._port),
            cwd=self._model,
            env=os.environ | _OFFLINE | {"MODEL": os.fspath(self._model)},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
        try:
            self._wait()
            self._compare()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
        self._log.close()

    def server_pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def target(self, requests: Sequence[Sequence[str]]) -> HttpTarget:
        bodies = [json.dumps({"model": NAME, "input": list(texts)}).encode() for texts in requests]
        headers = {"Content-Type": "application/json"}
        return HttpTarget(_HOST, self._port, [post(_HOST, self._port, "/embeddings", headers, body) for body in bodies])

    def _wait(self) -> None:
        end = time.monotonic() + READY_SECONDS
        while True:
            try:
                request_each(self.target([["Is the server ready?"]]))
                return
            except (OSError, RuntimeError, EOFError):
                assert self._process is not None
                if self._process.poll() is not None or time.monotonic() > end:
                    self._log.seek(0)
                    last = self._log.read().decode(errors="replace").strip().splitlines()[-3:]
                    raise EnsembleError(f"{self.name} did not start: {' / '.join(last)}") from None
            time.sleep(0.2)

    def _compare(self) -> None:
        texts, ours = self._expected
        answers = [json.loads(body) for body in request_each(self.target([[text] for text in texts]))]
        theirs = np.array([answer["data"][0]["embedding"] for answer in answers], np.float32)
        cosines = np.sum(theirs * ours, axis=1) / np.linalg.norm(theirs, axis=1) / np.linalg.norm(ours, axis=1)
        if cosines.min() < LEAST_COSINE:
            raise EnsembleError(
                f"{self.name} answers with different vectors: the lowest cosine to ours is {cosines.min():.4f}"
            )
        self.about += f"; cosine to ours at least {cosines.min():.6f}"
