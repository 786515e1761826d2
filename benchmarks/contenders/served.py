"""Ensembles in the real tritonserver, driven by perf_analyzer over gRPC and HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.analyzer_load import AnalyzerLoad
from benchmarks.cells import Cell
from benchmarks.loads import Load
from triton_ensembles.triton.server import TritonServer


class SharedServer:
    """One tritonserver with one built ensemble, for the contenders that ask it over different protocols.

    Args:
        repository: its folder's name is the ensemble's.
    """

    def __init__(self, repository: Path) -> None:
        self.repository = repository.resolve()
        self._server: TritonServer | None = None

    @property
    def running(self) -> TritonServer:
        """Started by whoever asks first."""
        if self._server is None:
            self._server = TritonServer([self.repository]).start()
        return self._server

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None


class Served:
    """An ensemble over one protocol.

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
        ensemble = self._server.repository.name
        folder = Path(self._folder.name)
        self._load = AnalyzerLoad(self._server.running, ensemble, self._protocol, folder, self._texts_from)

    def warm_up(self, load: Load) -> None:
        self._load.warm_up(load)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        return self._load.measure(load, seconds, warm_up)

    def stop(self) -> None:
        self._load.close()
        self._server.stop()  # the other protocol's contender stops at the same time
        self._folder.cleanup()
