"""Ensembles in the real tritonserver, with perf_analyzer as the client, over gRPC and HTTP."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell
from benchmarks.loads import IMAGES, Load, images_of, texts_of
from benchmarks.steady_load import measure
from triton_ensembles.perf.load_generator import LoadGenerator
from triton_ensembles.triton.home import find_home
from triton_ensembles.triton.server import TritonServer


class SharedServer:
    """One tritonserver with one built ensemble, for the contenders that use it over different protocols.

    Args:
        repository: its folder's name is the ensemble's.
    """

    def __init__(self, repository: Path) -> None:
        self.repository = repository.resolve()
        self._server: TritonServer | None = None

    @property
    def running(self) -> TritonServer:
        """Started by its first use."""
        if self._server is None:
            self._server = TritonServer([self.repository]).start()
        return self._server

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None


class Served:
    """An ensemble over one protocol: "grpc", or "http" with binary tensors.

    Args:
        name: of the contender.
        texts_from: the repository whose tokenizer counts the texts, so that all contenders are sent the same.
    """

    def __init__(
        self, name: str, server: SharedServer, loads: Sequence[Load], *, protocol: str, texts_from: Path, about: str
    ) -> None:
        self.name = name
        self.about = about
        self._server, self._protocol, self._texts_from = server, protocol, texts_from
        self._loads = loads

    def loads(self) -> Sequence[Load]:
        return self._loads

    def start(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bench-")
        _ = self._server.running

    def warm_up(self, load: Load) -> None:
        requests = max(2 * load.concurrency, 8 if load.content == IMAGES else 64 // load.rows)
        self._generator(load).warm_up(load.concurrency, requests)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        return measure(self._generator(load), load.concurrency, seconds, warm_up)

    def stop(self) -> None:
        self._server.stop()  # the other protocol's contender stops at the same time
        self._folder.cleanup()

    def _generator(self, load: Load) -> LoadGenerator:
        folder = Path(self._folder.name)
        path = folder / f"{load.content}-{load.rows}.json"
        if not path.exists():
            path.write_text(json.dumps({"data": _entries(load, self._texts_from)}), encoding="utf-8")
        inputs = ("--input-data", str(path.resolve()))
        model = self._server.repository.name
        return LoadGenerator(find_home(), self._server.running, folder, model, self._protocol, load.rows, inputs)


def _entries(load: Load, texts_from: Path) -> Sequence[Mapping[str, Any]]:
    """One entry per row: perf_analyzer puts as many consecutive ones into a request as it has rows, if all have one
    shape. Images have no shape of their own, so they are given one."""
    if load.content == IMAGES:
        return [
            {"INPUT": {"b64": base64.b64encode(image).decode("ascii"), "shape": [len(image)]}}
            for image in images_of(load)
        ]
    return [{"INPUT0": {"content": [text], "shape": [1]}} for text in texts_of(load, texts_from)]
