"""A model in the real tritonserver, with perf_analyzer as the client, over gRPC."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell
from benchmarks.loads import IMAGES, Load, images_of, texts_of
from benchmarks.steady_load import measure
from triton_ensembles.perf.load_generator import LoadGenerator
from triton_ensembles.triton.home import find_home
from triton_ensembles.triton.server import TritonServer


@dataclass
class Served:
    """A model with the inputs of bert_trt or dali_inception in a running server.

    Attributes:
        model: its name in the server.
        folder: for the inputs, which all contenders share, and perf_analyzer's output.
        texts_from: the repository whose tokenizer counts the texts, so that all contenders are sent the same.
    """

    name: str
    about: str
    loads: Sequence[Load]
    server: TritonServer
    model: str
    folder: Path
    texts_from: Path

    def warm_up(self, load: Load) -> None:
        requests = max(2 * load.concurrency, 8 if load.content == IMAGES else 64 // load.rows)
        self._generator(load).warm_up(load.concurrency, requests)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        return measure(self._generator(load), load.concurrency, seconds, warm_up)

    def _generator(self, load: Load) -> LoadGenerator:
        path = self.folder / f"{load.content}-{load.rows}.json"
        if not path.exists():
            path.write_text(json.dumps({"data": self._entries(load)}), encoding="utf-8")
        inputs = ("--input-data", str(path.resolve()))
        return LoadGenerator(find_home(), self.server, self.folder, self.model, "grpc", load.rows, inputs)

    def _entries(self, load: Load) -> Sequence[Mapping[str, Any]]:
        """One entry per row: perf_analyzer puts as many consecutive ones into a request as it has rows, if all have one
        shape. Images have no shape of their own, so they are given one."""
        if load.content != IMAGES:
            return [{"INPUT0": {"content": [text], "shape": [1]}} for text in texts_of(load, self.texts_from)]
        encoded = ((base64.b64encode(image).decode("ascii"), len(image)) for image in images_of(load))
        return [{"INPUT": {"b64": image, "shape": [size]}} for image, size in encoded]
