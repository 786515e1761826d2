"""The real tritonserver as the judge of examples: one server, every model loaded by name over HTTP."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.server import TritonServer


TIMEOUT = 20


@dataclass(frozen=True)
class Verdict:
    """``loaded``, and all the server said in its log while it loaded this model or refused it."""

    loaded: bool
    words: str


class Judge:
    """Loads and unloads models of one repository in a running server."""

    def __init__(self, server: TritonServer) -> None:
        self._server = server

    def load(self, name: str) -> Verdict:
        error = self._post(name, "load")
        if error is None:
            self._post(name, "unload")
            return Verdict(True, "")
        return Verdict(False, f"{error}\n{self._said_of(name)}")

    def load_all(self, names: Sequence[str]) -> dict[str, Verdict]:
        with ThreadPoolExecutor(4) as pool:
            return dict(zip(names, pool.map(self.load, names), strict=True))

    def _post(self, name: str, action: str) -> str | None:
        url = f"http://{self._server.http_url}/v2/repository/models/{name}/{action}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, b"{}", method="POST"), timeout=TIMEOUT):
                return None
        except urllib.error.HTTPError as error:
            return str(json.loads(error.read() or b"{}").get("error", error))

    def _said_of(self, name: str) -> str:
        log = self._server.log.read_text(errors="replace")
        return "\n".join(line for line in log.splitlines() if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line))


@contextlib.contextmanager
def judge(repository: Path, log: Path) -> Iterator[Judge]:
    with TritonServer([repository], log=log, arguments=["--model-control-mode=explicit"]) as server:
        yield Judge(server)
