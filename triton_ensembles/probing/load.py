"""A load of a model by a server that may crash or hang over it."""

import http.client
import select
import time
from functools import partial
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.ended_stubs import EndedStubs
from triton_ensembles.server.repository_api import RepositoryApi
from triton_ensembles.server.server_process import ServerProcess
from triton_ensembles.triton.log import crash_reason, read_log

_LOOK_SECONDS = 0.5


class LostError(Exception):
    """The server crashed, or does not end what it does, for the reason that is the text: it is of no more use."""


def load(server: ServerProcess, model: str, folder: Path, seconds: float) -> str:
    """Load the model in ``folder``, and return why that failed, "" if it did not. Raises :class:`LostError`."""
    start = server.written_log.stat().st_size
    wait = partial(wait_for_answer, server=server, seconds=seconds, start=start, folder=folder)
    api = RepositoryApi(server.http_url, server.secret, wait)
    try:
        text = api.load(model)
    except EnsembleError as error:
        raise LostError(crash(server) or error.message) from error
    reasons = "\n".join(server.reasons(start)) if text else ""
    return text if len(text) > len(reasons) else reasons


def wait_for_answer(
    connection: http.client.HTTPConnection, server: ServerProcess, seconds: float, start: int = 0, folder: Path = Path()
) -> None:
    """Wait until there is an answer to read, for a load of the model in ``folder`` that the log tells of from ``start``
    on. Raises :class:`LostError`."""
    limit, ended = time.monotonic() + seconds, EndedStubs(server.pid)
    while not select.select([connection.sock], [], [], _LOOK_SECONDS)[0]:
        if reason := crash(server) or (folder.name and server.stuck_load(start, folder)):
            raise LostError(reason)
        if stuck := server.stuck_loads(ended, start):
            raise LostError("; ".join(stuck))
        if time.monotonic() > limit:
            raise LostError(f"the load did not end within {seconds:.0f} s")


def crash(server: ServerProcess) -> str:
    """Why the server has ended; "" if it has not."""
    if not server.crashed():
        return ""
    return crash_reason(read_log(server.written_log, 0)) or "the server ended"
