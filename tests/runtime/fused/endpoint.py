"""A server with SageMaker's routes; fused ensembles are loaded as SageMaker does: each has a folder of its own."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.running import sent, serving
from tests.runtime.fused.forms import stage_chain
from triton_ensembles.server.sagemaker_server import SageMakerServer


class RefusedError(Exception):
    """The status and the text of an answer with a status of 400 or more."""


class Endpoint:
    def __init__(self, server: SageMakerServer, folder: Path) -> None:
        self.server, self.folder = server, folder

    def stage(self, name: str, weights: bytes = b"", **steps: str) -> Path:
        """Stage a chain of steps, with weights beside the first. Returns the version folder."""
        return stage_chain(self.folder / "written" / name, self.folder / name, 1, weights, **steps)

    def add(self, source: str, *names: str) -> None:
        """Stage and load ensembles of this step."""
        for name in names:
            self.stage(name, first=source)
            self.load(name)

    def load(self, name: str) -> None:
        body = json.dumps({"model_name": name, "url": str(self.folder / name)}).encode()
        self._send("POST", "/models", body, name)

    def unload(self, name: str) -> None:
        self._send("DELETE", f"/models/{name}", None, name)

    def answer(self, name: str, id: str = "", shape: Sequence[int] = (2,)) -> list[float]:
        """The answer to 1 and 2 in a request with this id. Raises RefusedError."""
        tensor = {"name": "X", "datatype": "FP32", "shape": shape, "data": [1, 2]}
        body = json.dumps({"inputs": [tensor], "id": id}).encode()
        return list(json.loads(self._send("POST", f"/models/{name}/invoke", body, name))["outputs"][0]["data"])

    def _send(self, method: str, path: str, body: bytes | None, target: str) -> bytes:
        headers = {"X-Amzn-SageMaker-Target-Model": f"{target}.tar.gz", "Content-Type": "application/json"}
        status, answer = sent(self.server.sagemaker_url, method, path, body, headers)
        if status >= 400:
            raise RefusedError(f"{status} {answer.decode()}")
        return answer


@contextmanager
def multi_model_endpoint(folder: Path) -> Iterator[Endpoint]:
    (folder / "empty").mkdir()
    with serving(SageMakerServer(folder / "empty", {"SAGEMAKER_MULTI_MODEL": "true"}, log=folder / "log")) as server:
        yield Endpoint(server, folder)
