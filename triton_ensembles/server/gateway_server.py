"""The gateway's container on this machine: a host, and the tritonserver that this starts."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

from triton_ensembles.ground.paths import IMPORTED_FROM
from triton_ensembles.server.leftovers import Leftovers
from triton_ensembles.server.server_command import ServerCommand, ServerOptions
from triton_ensembles.server.server_process import ServerProcess


def host_command(folder: Path, port: int, root: Path, python: str) -> tuple[str, ...]:
    """A command that hosts the models in ``folder``, whose configs are complete, as the only program of a machine.
    It needs the variables of :func:`host_environment`."""
    options = (f"--http-port={port}", f"--root={root}", "--memory-budget=90%", "--disable-auto-complete-config")
    steps = (f"--python={python}",) if python else ()
    return (sys.executable, "-P", "-m", "triton_ensembles", "host", os.fspath(folder), *options, *steps)


def host_environment() -> dict[str, str]:
    return {"PYTHONPATH": os.fspath(IMPORTED_FROM)}  # which stubs ignore


class GatewayServer(ServerProcess):
    """Serves the models of a gateway's table on the loopback interface, as the container does.

    ``folder`` is the unpacked archive: a model repository with the table, ``models.toml``, in it. ``environment`` has
    the container's variables. The other arguments and the errors are those of :class:`ServerProcess`.
    """

    port_names = ("sagemaker",)
    ready_route = ("sagemaker", "/ping")
    metrics_on = False  # those on its port are not Triton's

    def __init__(
        self, folder: Path, environment: Mapping[str, str] | None = None, **options: Unpack[ServerOptions]
    ) -> None:
        super().__init__(**options)
        command = host_command(folder.resolve(), self.ports.sagemaker, self._folder / "host", self.python)
        server = (f"--server={self._home.server}",) if self._home else ()
        self.command = ServerCommand(
            environment={**(environment or {}), **host_environment()},
            program=(*command, "--as-container", *server),
            contained=True,
        )

    @property
    def http_url(self) -> str:
        return self.sagemaker_url

    def stop(self, at_once: bool = False) -> None:
        super().stop(at_once)
        if self._process is not None:  # what it has started and could not end
            leftovers = Leftovers(self._process.pid)
            leftovers.remove()
            leftovers.remove_folders()
