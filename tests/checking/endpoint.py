"""What SageMaker does with an archive, on the real tritonserver: unpack it, load it under its name, invoke it."""

import json
import re
import tarfile
from pathlib import Path

from tests.running import sent
from triton_ensembles.server.sagemaker_server import SageMakerServer


class Endpoint:
    """An endpoint of several models, whose archives are unpacked into ``folder``."""

    def __init__(self, server: SageMakerServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self._number = 0

    def load(self, archive: Path) -> tuple[int, str]:
        """Returns (status, body)."""
        self._number += 1
        self.archive, self.hash = archive, f"hash{self._number}"
        self.url = self.folder / "models" / self.hash / "model"
        self.url.mkdir(parents=True)
        with tarfile.open(archive) as opened:
            opened.extractall(self.url, filter="data")
        return self._send("POST", "models", {"model_name": self.hash, "url": str(self.url)})

    def invoke(self) -> tuple[int, str]:
        tensor = {"name": "X", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}
        return self._send("POST", f"models/{self.hash}/invoke", {"inputs": [tensor]})

    def unload(self) -> None:
        self._send("DELETE", f"models/{self.hash}", {})

    @property
    def detected(self) -> set[str]:
        """The folders of the archive that the front end takes for ensembles."""
        return set(re.findall(f"detected an Ensemble config at path: {self.url}/(.*)/config.pbtxt", self.log))

    @property
    def log(self) -> str:
        return self.server.log.read_text(errors="replace")

    def _send(self, method: str, route: str, body: object) -> tuple[int, str]:
        header = {"X-Amzn-SageMaker-Target-Model": self.archive.name}
        status, answer = sent(self.server.sagemaker_url, method, f"/{route}", json.dumps(body).encode(), header, 60)
        return status, answer.decode()
