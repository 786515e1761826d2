"""The real tritonserver as the judge of examples: one server, every model loaded by name over HTTP."""

import json
import os
import re
import select
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import quote

from tests.checking import verdicts
from tests.running import sent
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.server.home import find_home
from triton_ensembles.server.stubs import prepare_stubs
from triton_ensembles.server.triton_server import TritonServer

TIMEOUT = 60.0  # seconds for one load; most take a tenth of one, and the slowest less than two on idle cores
TRIES = 10  # of a load over which the server was lost
# pb_env.cc makes the next folder with the number of the environments that it could unpack, so that the second one which
# it cannot unpack finds the folder of the first.
_OF_ANOTHER = "Failed to create environment directory"
MOST = 40  # models in one server: each Python model is a process that wakes up all the time, and keeps 20 MiB
PATIENCE = 6.0  # seconds after which a load that takes a tenth of a second otherwise counts as hanging


@dataclass(frozen=True)
class LoadResult:
    """Whether the model is ``loaded``, and what the server's log says about it.

    ``survived`` is false when the server hung or crashed over it.
    """

    loaded: bool
    words: str
    survived: bool = True


class ModelLoader:
    """Loads models of one repository into a running server, one after the other; a lost server is replaced, and so is
    one that has loaded many.

    With ``completes`` it completes configs, as Triton does unless it is told not to, and has the python backend only.
    Nothing is unloaded, and no two models are loaded at the same time: on a busy machine the Python backend of 2.51.0
    then sometimes crashes with a boost::interprocess::lock_exception. The core itself crashes, by signal 11, over a bad
    warm-up: one of nine with one core busy, two of ten with both, five of six with three programs on two cores.
    """

    def __init__(self, repository: Path, logs: Path, completes: bool = False) -> None:
        self._repository = repository
        self._logs = logs
        self._completes = completes
        self._servers = 0
        self._loaded = 0
        self._server: TritonServer | None = None

    def ask(self, model: str, body: object, timeout: float = TIMEOUT) -> str:
        """What Triton answers to a request with this body, an error too. Raises OSError: nothing, or not in time."""
        url, path = (self._server or self._start()).http_url, f"/v2/models/{model}/infer"
        _, answer = sent(url, "POST", path, json.dumps(body).encode(), seconds=timeout)
        return answer.decode()

    def load(self, name: str, timeout: float = TIMEOUT) -> LoadResult:
        server = self._server or self._start()
        try:
            with closing(HTTPConnection(server.http_url, timeout=timeout)) as connection:
                connection.request("POST", f"/v2/repository/models/{quote(name)}/load", b"{}", dict(server.secret.http))
                _wait_for_answer(connection, server.pid, timeout)
                reply = connection.getresponse()
                body = reply.read()
        except (OSError, HTTPException):
            words = "\n".join(server.log.read_text(errors="replace").splitlines()[-40:])
            self.kill()
            return LoadResult(False, f"the server hung or died:\n{words}", survived=False)
        if reply.status == 200:
            return LoadResult(True, "")
        error = json.loads(body or b"{}").get("error", "")
        return LoadResult(False, f"{error}\n{_said_of(name, server.log)}")

    def verdict(self, name: str) -> LoadResult:
        """What the server says about a model: what is on file about it (verdicts.py), or else by loading it."""
        digest = verdicts.digest_of(self._repository, name, self._completes)
        if not verdicts.is_asked(digest) and (verdict := verdicts.known(digest)):
            return LoadResult(verdict["loaded"], verdict["words"])
        result = self.load_surely(name)
        self._loaded += 1
        if self._loaded % MOST == 0:
            self.kill()
        if result.survived:
            verdicts.note(digest, name, result.loaded, result.words, self._logs)
        return result

    def load_surely(self, name: str) -> LoadResult:
        """As ``load``; a load over which the server was lost, or that met what another model had left, is repeated in a
        new one (see above)."""
        for _ in range(TRIES):
            result = self.load(name)
            if _OF_ANOTHER in result.words:
                self.kill()
            elif result.survived:
                break
        return result

    def __enter__(self) -> "ModelLoader":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _start(self) -> TritonServer:
        self._servers += 1
        log = self._logs / f"triton-{self._servers}.log"
        arguments = ["--model-control-mode=explicit"]
        if self._completes:
            arguments.append(f"--backend-directory={self._python_backend_only()}")
        server = TritonServer([self._repository], completes=self._completes, log=log, arguments=arguments)
        self._server = server.start()
        return server

    def _python_backend_only(self) -> Path:
        folder = self._logs / "backends"
        folder.mkdir(exist_ok=True)
        link = folder / "python"
        if not link.is_symlink():
            link.symlink_to(prepare_stubs(find_home())[0] / "python")
        return folder

    def kill(self) -> None:
        """End a server that no longer answers; the next load starts another one."""
        server, self._server = self._server, None
        if server:
            server.stop(at_once=True)


def _wait_for_answer(connection: HTTPConnection, pid: int, seconds: float) -> None:
    """Until it can be read. Raises OSError when the server ends or the time is over before.

    The connection alone does not tell of the server's end: Python stubs have inherited it.
    """
    handle = os.pidfd_open(pid)
    try:
        waiter = select.poll()
        waiter.register(handle, select.POLLIN)
        waiter.register(connection.sock, select.POLLIN)
        ready = {file for file, _ in waiter.poll(seconds * 1000)}
    finally:
        os.close(handle)
    if handle in ready:
        raise ConnectionError("the server has ended")
    if not ready:
        raise TimeoutError("no answer")


def server_results(examples: Mapping[str, Example], folder: Path, completes: bool = False) -> dict[str, LoadResult]:
    """What the server says about the examples, which are written to ``folder/models`` under their names."""
    names = [stage(example, folder / "models", name) for name, example in examples.items()]
    with ModelLoader(folder / "models", folder, completes) as server:
        return {name: server.verdict(name) for name in names}


def _said_of(name: str, log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(line for line in lines if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line))
