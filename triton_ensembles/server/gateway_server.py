"""The gateway's container on this machine: its entry point, and the tritonserver that this starts."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

from triton_ensembles.archive.manifest import GATEWAY_TABLE
from triton_ensembles.ground.paths import IMPORTED_FROM
from triton_ensembles.server.ports import LOOPBACK
from triton_ensembles.server.server_command import Reach, ServerCommand, ServerOptions
from triton_ensembles.server.server_process import ServerProcess


class GatewayServer(ServerProcess):
    """Serves the models of a gateway's table on the loopback interface, by the entry point of the container, whose
    Triton listens on Unix sockets.

    ``folder`` is the unpacked archive: a model repository with the table, ``models.toml``, in it. ``environment`` has
    the container's variables. The other arguments and the errors are those of :class:`ServerProcess`.
    """

    port_names = ("sagemaker",)
    ready_route = ("sagemaker", "/ping")

    def __init__(
        self, folder: Path, environment: Mapping[str, str] | None = None, **options: Unpack[ServerOptions]
    ) -> None:
        super().__init__(**options)
        folder = folder.resolve()
        flags = [f"--model-repository={folder}", *self.listens("http", "grpc", "metrics", over=Reach.SOCKETS)]
        gateway = [f"--table={folder / GATEWAY_TABLE}", f"--host={LOOPBACK}", f"--port={self.ports.sagemaker}"]
        gateway += [f"--grpc={self.grpc_url}", f"--http={self.http_url}"]
        self.command = ServerCommand(
            (*flags, "--disable-auto-complete-config"),
            {**(environment or {}), "PYTHONPATH": os.fspath(IMPORTED_FROM)},  # which stubs ignore
            runner=(sys.executable, "-P", "-m", "triton_ensembles.gateway", *gateway, "--"),
            contained=True,
        )
