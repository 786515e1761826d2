"""A tritonserver for KServe v2 over HTTP and gRPC.

with TritonServer([Path("build/cpu/bert_trt")], log=Path("build/serve.log")) as server:
    print(server.http_url)
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from triton_ensembles.triton.bare_python import NO_BYTECODE
from triton_ensembles.triton.server_process import ServerCommand, ServerOptions, ServerProcess


class TritonServer(ServerProcess):
    """Serves every model of the repositories, as a context manager.

    Args:
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
        arguments: Sequence[str] = (),
        completes: bool = False,
        **options: Unpack[ServerOptions],
    ) -> None:
        super().__init__(**options)
        own = [f"--model-repository={Path(path).resolve()}" for path in repositories]
        own += self.listens(*self.port_names)
        own += [] if completes else ["--disable-auto-complete-config"]
        # The repositories are people's own folders: nothing is written into them.
        self.command = ServerCommand((*own, *arguments), {NO_BYTECODE: "1"})
