"""aiohttp over the addresses of a tritonserver: ``unix:PATH`` or ``127.0.0.1:PORT``."""

from typing import Any

import aiohttp

from triton_ensembles.server.sockets import UNIX


def base_of(address: str) -> str:
    """The beginning of URLs there. Over a socket, the name of the host means nothing."""
    return "http://tritonserver" if address.startswith(UNIX) else f"http://{address}"


def connector_to(address: str, **options: Any) -> aiohttp.BaseConnector:
    """The connector for these URLs; ``options`` are aiohttp's."""
    if address.startswith(UNIX):
        return aiohttp.UnixConnector(address.removeprefix(UNIX), **options)
    return aiohttp.TCPConnector(**options)
