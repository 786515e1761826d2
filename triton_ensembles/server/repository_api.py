"""Triton's model repository extension over HTTP: what is served, load, unload.

What the server does (measured on 2.51.0, in its explicit mode): a load polls the model and, of an ensemble, its steps.
What has changed since, by the newest time stamp in its folder, is loaded beside the version that serves, which then
ends; ensembles that depend on it are made again. When the load fails, the version before goes on serving, unless it is
an ensemble, whose earlier form is unloaded.
"""

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.secret import Secret
from triton_ensembles.server.sockets import connection_to

Wait = Callable[[http.client.HTTPConnection], None]


@dataclass(frozen=True)
class RepositoryApi:
    """``url``: ``127.0.0.1:8000`` or ``unix:PATH``, as of :class:`TritonServer`, with its secret. ``wait``: returns
    when there is an answer to read."""

    url: str
    secret: Secret
    wait: Wait | None = None

    def ready(self) -> frozenset[str]:
        """The names of the models of which a version is served now."""
        status, answer = self._post("index")
        index = json.loads(answer) if status == http.HTTPStatus.OK else []
        return frozenset(model["name"] for model in index if model.get("state") == "READY")

    def load(self, model: str) -> str:
        """Load the model, or load it again if its files have changed. Returns why it failed, "" if it did not."""
        return self._request(model, "load")

    def unload(self, model: str) -> str:
        """Returns why it failed, "" if it did not."""
        return self._request(model, "unload")

    def _request(self, model: str, verb: str) -> str:
        status, answer = self._post(f"models/{quote(model, safe='')}/{verb}")
        if status == http.HTTPStatus.OK:
            return ""
        return error_in(answer) or f"the server answered with status {status}"

    def _post(self, path: str) -> tuple[int, bytes]:
        """Waits as long as a load takes. Raises :class:`EnsembleError` when the server ends before it answers."""
        connection = connection_to(self.url)
        try:
            connection.request("POST", f"/v2/repository/{path}", headers=dict(self.secret.http))
            if self.wait:
                self.wait(connection)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise EnsembleError(f"the server ended while it answered ({error})") from error
        finally:
            connection.close()


def error_in(answer: bytes) -> str:
    """The text of Triton's ``{"error": "…"}``, or the answer as it is."""
    try:
        return str(json.loads(answer)["error"])
    except (ValueError, LookupError, TypeError):
        return answer.decode(errors="replace")
