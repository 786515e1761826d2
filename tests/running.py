"""Commands that tests start: ended with the test, whatever becomes of it."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import tritonclient.grpc as grpc
import tritonclient.http as http

from checkout import ROOT
from triton_ensembles.ground.processes import die_with_parent
from triton_ensembles.server.clients import Headers
from triton_ensembles.server.ports import Ports
from triton_ensembles.server.server_process import ServerProcess
from triton_ensembles.server.sockets import connection_to
from triton_ensembles.server.triton_server import TritonServer

Server = TypeVar("Server", bound=ServerProcess)


def outcome(*command: str | Path, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with these environment variables besides."""
    return subprocess.run(command, cwd=cwd, env=os.environ | variables, capture_output=True, text=True)


@contextmanager
def running(*command: str, ignoring: int | None = None, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process in the project's folder, killed at the end of the test, and by the kernel when the tests are killed.

    Args:
        ignoring: a signal that is ignored when it starts, as SIGINT is in a background job of a shell.
    """
    die = die_with_parent()

    def prepare() -> None:
        die()
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # which the tests themselves may have inherited as ignored
        if ignoring is not None:
            signal.signal(ignoring, signal.SIG_IGN)

    options = {"stdout": subprocess.PIPE, "text": True, "cwd": ROOT, "preexec_fn": prepare} | options
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()  # one that has ended is left alone


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server, started, and killed at the end: it takes some seconds to unload its models, which only tests of
    its end have to see."""
    server.start()
    try:
        yield server
    finally:
        server.stop(at_once=True)


@contextmanager
def client_of(server: TritonServer) -> Iterator[http.InferenceServerClient]:
    """A client of the server, which is started, and killed at the end."""
    with (
        serving(server),
        http.InferenceServerClient(server.http_url, network_timeout=300, connection_timeout=300) as client,
    ):
        yield client


def grpc_client(server: ServerProcess) -> grpc.InferenceServerClient:
    """Return a client over gRPC that knows the server's secret."""
    client = grpc.InferenceServerClient(server.grpc_url)
    client.register_plugin(Headers(server.secret.grpc))
    return client


def sent(
    url: str, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}, seconds: float = 300
) -> tuple[int, bytes]:
    """The status and the body of the answer at an address of a server, which may be ``unix:PATH``."""
    with closing(connection_to(url, seconds)) as connection:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()


def connected(url: str) -> socket.socket:
    """A connection to the server at this address, for bytes that no client sends."""
    host, _, port = url.rpartition("/")[2].rpartition(":")
    return socket.create_connection((host, int(port)), timeout=300)


def port_options(ports: Ports) -> list[str]:
    """The options of `serve` that name these ports."""
    return [f"--{name}-port={getattr(ports, name)}" for name in ("http", "grpc", "metrics")]


@contextmanager
def served_by(*command: str, **options: Any) -> Iterator[str]:
    """The HTTP address of what this `serve` serves on free ports, until Ctrl-C ends it without an error."""
    with (
        Ports.reserved() as ports,
        running(*command, *port_options(ports), stderr=subprocess.STDOUT, **options) as process,
    ):
        lines_until(process.stdout, "Ctrl-C")
        yield f"127.0.0.1:{ports.http}"
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0


def lines_until(stream: IO[str] | None, words: str) -> list[str]:
    """Read what a process prints on one of its streams up to the line with these words, and nothing after it."""
    assert stream is not None
    lines: list[str] = []
    for line in stream:
        lines.append(line.rstrip("\n"))
        if words in line:
            return lines
    raise AssertionError(f"{words!r} is missing in: {lines}")
