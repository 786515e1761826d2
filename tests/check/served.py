"""The real tritonserver as the judge of examples: one server, every model loaded by name over HTTP."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from triton_ensembles.server import TritonServer

TIMEOUT = 60.0  # seconds for one load; most take a tenth of one
PATIENCE = 6.0  # seconds after which a load that should have taken a tenth of one counts as hanging


@dataclass(frozen=True)
class Verdict:
    """``loaded``, and all the server said in its log while it loaded this model or refused it."""

    loaded: bool
    words: str


class Judge:
    """Loads models of one repository into a running server, one after the other.

    Nothing is unloaded and nothing loaded at the same time: on a busy machine the Python backend of 2.51.0 then now and
    again goes down with a boost::interprocess::lock_exception.
    """

    def __init__(self, server: TritonServer) -> None:
        self._server = server

    def load(self, name: str) -> Verdict:
        error = self._post(name)
        if error is None:
            return Verdict(True, "")
        return Verdict(False, f"{error}\n{self._said_of(name)}")

    def load_all(self, names: Sequence[str]) -> dict[str, Verdict]:
        return {name: self.load(name) for name in names}

    def kills(self, name: str) -> bool:
        """Whether the server hangs or dies when it is to load ``name``; it is killed afterwards."""
        try:
            self._post(name, PATIENCE)
        except OSError:  # a time-out, or a connection that broke
            if self._server.alive():
                os.kill(self._server.pid, signal.SIGKILL)
            return True
        return False

    def _post(self, name: str, timeout: float = TIMEOUT) -> str | None:
        url = f"http://{self._server.http_url}/v2/repository/models/{quote(name)}/load"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, b"{}", method="POST"), timeout=timeout):
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
