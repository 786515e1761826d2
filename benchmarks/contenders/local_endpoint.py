"""bert_trt behind InvokeEndpoint of the local endpoint, with binary tensors in the body."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.contenders.http_contender import HttpContender
from benchmarks.endpoint_fixture import archive_of, endpoint_target, running_endpoint
from benchmarks.examples import sentences
from benchmarks.http_load import HttpTarget, request_each
from triton_ensembles.endpoint.local import LocalEndpoint

ENSEMBLE = "bert_trt"


class OursBehindEndpoint(HttpContender):
    """The archive in dist/, uploaded to its own endpoint."""

    about = "InvokeEndpoint of the local endpoint (aiohttp, uvloop), binary tensors; client: plain sockets"

    def start(self) -> None:
        self._stack = ExitStack()
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
            self._local: LocalEndpoint = stack.enter_context(running_endpoint(folder, [archive_of(ENSEMBLE)]))
            request_each(self.target([["The first request waits until the model is loaded."]]))
            self._stack = stack.pop_all()

    def stop(self) -> None:
        self._stack.close()

    def server_pid(self) -> int:
        return self._local.pid

    def target(self, requests: Sequence[Sequence[str]]) -> HttpTarget:
        return endpoint_target(self._local, ENSEMBLE, [sentences(texts) for texts in requests])
