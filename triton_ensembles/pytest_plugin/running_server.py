"""A tritonserver that runs already: on this machine, or in a container."""

from __future__ import annotations

import http.client
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from triton_ensembles.ground.errors import EnsembleError

_ANSWER_SECONDS = 10.0


@dataclass(frozen=True)
class RunningServer:
    """Addresses of a running server, in the form that tritonclient takes: ``127.0.0.1:8000``."""

    http_url: str
    grpc_url: str
    metrics_url: str

    def answers(self, path: str) -> bool:
        """Return whether it answers a GET of ``path`` with status 200. Raises :class:`EnsembleError`: nothing
        answers."""
        connection = http.client.HTTPConnection(self.http_url, timeout=_ANSWER_SECONDS)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except (OSError, OverflowError, http.client.HTTPException) as error:
            cure = "start it, or give its address with --triton-server-url"
            raise EnsembleError(f"no tritonserver answers at {self.http_url}: {error}", cure=cure) from error
        finally:
            connection.close()


class RunningServers:
    """Value of the fixture ``triton_server_noproc``."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server

    def __call__(self, *paths: str | os.PathLike[str]) -> RunningServer:
        """The server, if it serves models that are named as the folders or archives ``paths`` are. Raises
        :class:`EnsembleError`: it does not, or nothing answers."""
        __tracebackhide__ = True
        for path in paths:
            name = Path(path).name.removesuffix(".tar.gz")
            if not self._server.answers(f"/v2/models/{quote(name)}/ready"):
                message = f"the tritonserver at {self._server.http_url} has no model {name!r} that is ready"
                cure = "give it this model, or test with a server of one's own: triton_server"
                raise EnsembleError(message, cure=cure)
        return self._server
