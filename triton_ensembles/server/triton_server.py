"""A tritonserver for KServe v2 over HTTP and gRPC.

with TritonServer([Path("build/cpu/bert_trt")], log=Path("build/serve.log")) as server:
    print(server.http_url)
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.bare_python import NO_BYTECODE
from triton_ensembles.server.secret import ALL, CHANGING, LOADING
from triton_ensembles.server.server_command import Reach, ServerCommand, ServerOptions
from triton_ensembles.server.server_process import ServerProcess


class TritonServer(ServerProcess):
    """Serves every model of the repositories, as a context manager. Raises :class:`EnsembleError`: one is no folder.

    Args:
        repositories: one folder, or several.
        arguments: further flags of tritonserver.
        completes: whether the server completes configs that leave out what a model's file says, as Triton does by
            default. For that it starts each Python step once more, which configs that a build has written need not.
        reach: who may talk to it.

    The other arguments and the errors are those of :class:`ServerProcess`.
    """

    port_names: tuple[str, ...] = ("http", "grpc", "metrics")
    ready_route = ("http", "/v2/health/ready")

    def __init__(
        self,
        repositories: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        arguments: Sequence[str] = (),
        completes: bool = True,
        reach: Reach = Reach.PROGRAMS,
        **options: Unpack[ServerOptions],
    ) -> None:
        super().__init__(**options)
        folders = [
            Path(path) for path in ([repositories] if isinstance(repositories, str | os.PathLike) else repositories)
        ]
        for folder in folders:
            if not folder.is_dir():
                cure = "unpack an archive first, or serve it with: triton-ensembles serve ARCHIVE"
                raise EnsembleError("this is not the folder of a model repository", path=folder, cure=cure)
        own = [f"--model-repository={folder.resolve()}" for folder in folders]
        own += self.listens(*self.port_names, over=reach)
        if reach is Reach.SECRET:
            own += self.secret.demanded(self.version, http=ALL, grpc=ALL)
        elif reach is Reach.PROGRAMS:
            # No browser speaks gRPC's HTTP/2, but other users of the machine do.
            loads = any("model-control-mode" in argument for argument in arguments)
            own += self.secret.demanded(self.version, http=CHANGING, grpc=LOADING if loads else ())
        own += [] if completes else ["--disable-auto-complete-config"]
        # The repositories are people's own folders: nothing is written into them.
        self.command = ServerCommand((*own, *arguments), {NO_BYTECODE: "1"})
