"""The gateway's container on this machine: its entry point, and the tritonserver that this starts."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from triton_ensembles.paths import IMPORTED_FROM
from triton_ensembles.triton.ports import LOOPBACK, Ports
from triton_ensembles.triton.server_process import ServerCommand, ServerProcess


class GatewayServer(ServerProcess):
    """Serves the models of a gateway's table on the loopback interface, by the entry point of the container.

    Args:
        repositories: model repositories, which have the table's models.
        table: the table, ``models.toml``.
        environment: the container's variables.

    The other arguments and the errors are those of :class:`ServerProcess`.
    """

    port_names = ("sagemaker", "http", "grpc", "metrics")
    ready_route = ("sagemaker", "/ping")

    def __init__(
        self,
        repositories: Sequence[Path],
        table: Path,
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
        own = ("http", "grpc", "metrics")
        options = {
            "table": os.fspath(table.resolve()),
            "host": LOOPBACK,
            "port": str(self.ports.sagemaker),
            **{name: f"{LOOPBACK}:{getattr(self.ports, name)}" for name in ("grpc", "http")},
        }
        self.command = ServerCommand(
            (
                *(f"--model-repository={path.resolve()}" for path in repositories),
                *(f"--{name}-address={LOOPBACK}" for name in own),
                *(f"--{name}-port={getattr(self.ports, name)}" for name in own),
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
