"""tritonclient's client of a server that was started here, which knows its secret."""

from collections.abc import Mapping
from typing import Any

import tritonclient.http
from tritonclient.http import InferenceServerClientPlugin

from triton_ensembles.server.server_process import ServerProcess


def http_client(server: ServerProcess, **options: Any) -> tritonclient.http.InferenceServerClient:
    """A client over HTTP, for a server whose HTTP is a TCP port; ``options`` are tritonclient's."""
    client = tritonclient.http.InferenceServerClient(server.http_url, **options)
    client.register_plugin(Headers(server.secret.http))
    return client


class Headers(InferenceServerClientPlugin):  # type: ignore[misc]
    """tritonclient's plugin, which is called with every request."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    def __call__(self, request: Any) -> None:
        request.headers.update(self._headers)
