"""A server with SageMaker's routes; fused ensembles are loaded as SageMaker does: each has a folder of its own."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.runtime.fused.forms import stage_fused_form
from tests.runtime.fused.test_faults import write
from triton_ensembles.triton.sagemaker_server import SageMakerServer


class Endpoint:
    def __init__(self, server: SageMakerServer, folder: Path) -> None:
        self.server, self.folder = server, folder

    def stage(self, name: str, weights: bytes = b"", **steps: str) -> Path:
        """Stage a chain of steps, with weights beside the first. Returns the version folder."""
        write(self.folder / "written" / name, 1, **steps)
        (self.folder / "written" / name / next(iter(steps)) / "1" / "weights.bin").write_bytes(weights)
        (self.folder / name).mkdir()
        stage_fused_form(self.folder / "written" / name, self.folder / name)
        return self.folder / name / name / "1"

    def load(self, name: str) -> None:
        body = json.dumps({"model_name": name, "url": str(self.folder / name)}).encode()
        self._send("POST", "/models", body, name)

    def unload(self, name: str) -> None:
        self._send("DELETE", f"/models/{name}", None, name)

    def answer(self, name: str, id: str = "", shape: Sequence[int] = (2,)) -> list[float]:
        """The answer to 1 and 2 in a request with this id. Raises HTTPError."""
        tensor = {"name": "X", "datatype": "FP32", "shape": shape, "data": [1, 2]}
        body = json.dumps({"inputs": [tensor], "id": id}).encode()
        answer = json.loads(self._send("POST", f"/models/{name}/invoke", body, name))
        values: list[float] = answer["outputs"][0]["data"]
        return values

    def _send(self, method: str, path: str, body: bytes | None, target: str) -> bytes:
        headers = {"X-Amzn-SageMaker-Target-Model": f"{target}.tar.gz", "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{self.server.sagemaker_url}{path}", body, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            content: bytes = answer.read()
            return content
