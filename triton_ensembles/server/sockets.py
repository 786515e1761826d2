"""Unix sockets of tritonserver, in a folder of the server that only its user can enter: no web page, no other user.

libevhtp, its HTTP server, takes ``unix:PATH`` for an address, and gRPC does too. Triton then appends the port, which is
a part of the file's name for gRPC and means nothing for HTTP. Seen on 2.51.0: HTTP, gRPC, metrics and SageMaker's port.
"""

import contextlib
import http.client
import re
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path

UNIX = "unix:"
_LONGEST = 107  # bytes of a socket's path (sun_path, unix(7))
_ADDED = len("/01234567/grpc:65535")  # at most: what mkdtemp adds to a prefix, and the longest name
_PLAIN = re.compile(r"[A-Za-z0-9._/-]+")  # of which gRPC decodes nothing
_SHORT = "/tmp"  # where Triton unpacks environments as well


def socket_folder(prefix: str) -> Path:
    """A new folder for sockets, of this user alone, whose name begins with ``prefix``; in /tmp where TMPDIR has a path
    that no socket can have. The caller removes it."""
    usual = tempfile.gettempdir()
    fits = _PLAIN.fullmatch(usual) and len(usual) + len(prefix) + _ADDED <= _LONGEST
    return Path(tempfile.mkdtemp(prefix=prefix, dir=usual if fits else _SHORT))


def socket_folders(prefix: str) -> list[Path]:
    """Return what :func:`socket_folder` has made with ``prefix``, and a killed process has left."""
    return [path for folder in {tempfile.gettempdir(), _SHORT} for path in Path(folder).glob(f"{prefix}*")]


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("tritonserver", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def connection_to(url: str, timeout: float | None = None) -> http.client.HTTPConnection:
    """An HTTP connection to ``127.0.0.1:8000`` or ``unix:PATH``, not opened yet; never by way of a proxy."""
    if url.startswith(UNIX):
        return _UnixConnection(url.removeprefix(UNIX), timeout)
    return http.client.HTTPConnection(url, timeout=timeout)


def answers(url: str, path: str, headers: Mapping[str, str]) -> bool:
    """Return whether a GET of ``path`` is answered with 200."""
    with contextlib.closing(connection_to(url, timeout=5)) as connection:
        try:
            connection.request("GET", path, headers=dict(headers))
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
