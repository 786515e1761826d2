"""A host as the command line starts it, over a folder of archives."""

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as http

from tests.ensembles.clients import infer
from tests.hosting import archives
from tests.processes import started_by
from tests.running import lines_until, running, sent

COMPLETE = "--disable-auto-complete-config"


class Hosted:
    """A host that runs."""

    def __init__(self, models: Path, pid: int, address: str, lines: list[str]) -> None:
        self.models, self.pid, self.address, self.lines = models, pid, address, lines

    def put(self, name: str, files: Mapping[str, bytes] | bytes) -> None:
        """Write an archive as people do: beside the old one, and then in its place."""
        put(self.models, name, files)

    def client(self) -> http.InferenceServerClient:
        return http.InferenceServerClient(self.address, network_timeout=300, connection_timeout=300)

    def infer(self, name: str, *numbers: float, **options: Any) -> list[float]:
        """The answer to a request of an unmodified client."""
        with self.client() as client:
            return list(infer(client, name, {"X": np.array(numbers, np.float32)}, **options)["Y"])

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        """The status, and the JSON or text of the answer."""
        status, answer = sent(self.address, method, path, body, headers)
        try:
            return status, json.loads(answer)
        except ValueError:
            return status, answer.decode()

    def error(self, name: str, status: int) -> str:
        """Why a request for this model is refused with this status."""
        got, answer = self.ask("POST", f"/v2/models/{name}/infer", archives.body(1.0))
        assert got == status, answer
        return str(answer["error"])

    def state(self, name: str) -> str:
        _, models = self.ask("POST", "/v2/repository/index")
        return next((model["state"] for model in models if model["name"] == name), "")

    def metric(self, name: str) -> float:
        _, text = self.ask("GET", "/metrics")
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if re.match(rf"{name}[ {{]", line))

    def kill_triton(self) -> None:
        (server,) = started_by(self.pid, "/tritonserver ")
        os.kill(server, signal.SIGKILL)


def put(models: Path, name: str, files: Mapping[str, bytes] | bytes) -> None:
    scratch = models / f".{name}"
    scratch.write_bytes(files if isinstance(files, bytes) else archives.packed(files))
    scratch.rename(models / f"{name}.tar.gz")


@contextmanager
def hosting(models: Path | str, root: Path, *options: str, environment: Mapping[str, str] = {}) -> Iterator[Hosted]:
    """The command over this folder or S3 prefix, stopped at the end."""
    command = [sys.executable, "build.py", "host", str(models), "--http-port", "0", "--root", str(root), *options]
    with running(*command, env=os.environ | dict(environment), stderr=-2) as process:
        lines = lines_until(process.stdout, "stops it")
        ready = re.search(r"^ready: \d+ models? of .* on http://(\S+)", "\n".join(lines), re.MULTILINE)
        assert ready, lines
        threading.Thread(
            target=lambda: lines.extend(line.rstrip() for line in process.stdout or ()), daemon=True
        ).start()
        try:
            yield Hosted(Path(models), process.pid, ready[1], lines)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """The host of the tests that neither kill it nor fill its memory; each has models of its own."""
    folder = tmp_path_factory.mktemp("host")
    models = folder / "models"
    models.mkdir()
    for number in (2, 3):
        steps = {
            **archives.model("first", execute="x = x + 1"),
            **archives.model("second", execute=f"x = x * {number}"),
        }
        put(models, f"times{number}", {**steps, **archives.ensemble("ensemble", "first", "second")})
    archives.written(archives.model("plain", execute="x = x * 10"), models)
    archives.written(archives.ensemble("pipe", "plain", "plain"), models)
    with hosting(models, folder / "root", COMPLETE) as hosted:
        yield hosted
