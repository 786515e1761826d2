"""The gateway's container on this machine: its entry point, and the tritonserver that this starts."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from triton_ensembles.ground.paths import IMPORTED_FROM
from triton_ensembles.triton.ports import LOOPBACK, Ports
from triton_ensembles.triton.server_process import ServerCommand, ServerProcess

TABLE = "models.toml"


class GatewayServer(ServerProcess):
    """Serves the models of a gateway's table on the loopback interface, by the entry point of the container.

    Args:
        folder: a model repository with the table, ``models.toml``, in it: the unpacked archive.
        environment: the container's variables.

    The other arguments and the errors are those of :class:`ServerProcess`.
    """

    port_names = ("sagemaker", "http", "grpc", "metrics")
    ready_route = ("sagemaker", "/ping")

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        *,
        ports: Ports | None = None,
        log: Path | None = None,
        append_log: bool = False,
        python: str = "",
        ready_seconds: float = 300,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__(
            ports, log, append_log=append_log, python=python, ready_seconds=ready_seconds, progress=progress
        )
        endpoints = ("http", "grpc", "metrics")  # of Triton
        options = {
            "table": os.fspath(folder.resolve() / TABLE),
            "host": LOOPBACK,
            "port": str(self.ports.sagemaker),
            **{name: f"{LOOPBACK}:{getattr(self.ports, name)}" for name in ("grpc", "http")},
        }
        self.command = ServerCommand(
            (
                f"--model-repository={folder.resolve()}",
                *(f"--{name}-address={LOOPBACK}" for name in endpoints),
                *(f"--{name}-port={getattr(self.ports, name)}" for name in endpoints),
                "--disable-auto-complete-config",
            ),
            {**(environment or {}), "PYTHONPATH": os.fspath(IMPORTED_FROM)},  # which stubs ignore
            runner=(
                *(sys.executable, "-P", "-m", "triton_ensembles.gateway"),
                *(f"--{name}={value}" for name, value in options.items()),
                "--",
            ),
        )

    @property
    def sagemaker_url(self) -> str:
        """``127.0.0.1:8080``, the container's port."""
        return f"{LOOPBACK}:{self.ports.sagemaker}"

    @property
    def http_url(self) -> str:
        """``127.0.0.1:8000``, where Triton itself listens."""
        return f"{LOOPBACK}:{self.ports.http}"

    @property
    def metrics_on(self) -> bool:
        """Whether the container serves Triton's metrics."""
        return True
