"""A tritonserver for KServe v2 over HTTP and gRPC.

with TritonServer([Path("build/cpu/bert_trt")], log=Path("build/serve.log")) as server:
    print(server.http_url)
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from triton_ensembles.triton.ports import LOOPBACK, Ports
from triton_ensembles.triton.server_process import ServerCommand, ServerProcess


class TritonServer(ServerProcess):
    """Serves every model of the given repositories, as a context manager.

    Args:
        repositories: model repositories.
        arguments: further flags of tritonserver.
        completes: whether the server completes configs that leave out what a model's file says. For that it starts
            each Python step once more.

    The other arguments and the errors are those of :class:`ServerProcess`.
    """

    port_names = ("http", "grpc", "metrics")
    ready_route = ("http", "/v2/health/ready")

    def __init__(
        self,
        repositories: Sequence[str | os.PathLike[str]],
        *,
        ports: Ports | None = None,
        arguments: Sequence[str] = (),
        completes: bool = False,
        log: Path | None = None,
        python: str = "",
        ready_seconds: float = 300,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__(ports, log, python=python, ready_seconds=ready_seconds, progress=progress)
        own = [
            *(f"--model-repository={Path(path).resolve()}" for path in repositories),
            *(f"--{name}-address={LOOPBACK}" for name in self.port_names),
            *(f"--{name}-port={getattr(self.ports, name)}" for name in self.port_names),
            *([] if completes else ["--disable-auto-complete-config"]),
        ]
        self.command = ServerCommand((*own, *arguments))

    @property
    def http_url(self) -> str:
        """``127.0.0.1:8000``, the form that tritonclient takes."""
        return f"{LOOPBACK}:{self.ports.http}"

    @property
    def grpc_url(self) -> str:
        """``127.0.0.1:8001``, the form that tritonclient takes."""
        return f"{LOOPBACK}:{self.ports.grpc}"
