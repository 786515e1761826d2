"""TCP ports of tritonserver on the loopback interface."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields

from triton_ensembles.ground.errors import EnsembleError

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Ports:
    """The ports of one server: KServe v2, Prometheus' metrics, SageMaker's routes; the defaults are Triton's own."""

    http: int = 8000
    grpc: int = 8001
    metrics: int = 8002
    sagemaker: int = 8080

    @classmethod
    @contextmanager
    def reserved(cls) -> Iterator[Ports]:
        """Four free ports that no other process gets until the ``with`` block ends; tritonserver may use them.

        They are reserved by bound sockets that do not listen. The kernel never assigns such a port to a process that
        asks for any port, but lets a server bind it that asks for this port with SO_REUSEADDR, as tritonserver does.
        """
        with ExitStack() as held:
            sockets = [held.enter_context(_reusing_socket()) for _ in fields(cls)]
            for bound in sockets:
                bound.bind((LOOPBACK, 0))
            yield cls(*(bound.getsockname()[1] for bound in sockets))

    def refuse_busy(self, names: Iterable[str]) -> None:
        """Raise :class:`EnsembleError` for the first of the named ports that is in use, or the same as another one."""
        taken: dict[int, str] = {}
        for name in names:
            port = getattr(self, name)
            if port in taken:
                cure = f"choose another port with --{name}-port"
                raise EnsembleError(f"port {port} is given twice, for {taken[port]} and {name}", cure=cure)
            taken[port] = name
            with _reusing_socket() as probe:
                try:
                    probe.bind((LOOPBACK, port))
                except OverflowError:
                    cure = f"choose a port from 1 to 65535 with --{name}-port"
                    raise EnsembleError(f"{port} ({name}) is not a port", cure=cure) from None
                except OSError as error:
                    message = f"port {port} ({name}) of {LOOPBACK} cannot be used: {error.strerror}"
                    cure = f"stop the program that uses it, or choose another port with --{name}-port"
                    raise EnsembleError(message, cure=cure) from error


def _reusing_socket() -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return bound
