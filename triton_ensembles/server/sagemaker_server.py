"""A tritonserver as a SageMaker container runs it: SageMaker's routes, configured by environment variables."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from triton_ensembles.server.sagemaker_entry_point import server_command
from triton_ensembles.server.sagemaker_socket import has_sagemaker_socket
from triton_ensembles.server.secret import ALL, LOADING, covers_sagemaker
from triton_ensembles.server.server_command import LOAD_THREADS, Reach, ServerOptions
from triton_ensembles.server.server_process import ServerProcess
from triton_ensembles.triton.destination import LOCAL
from triton_ensembles.triton.sagemaker_variables import ALLOW_METRICS, MULTI_MODEL, Release, honored

# Of SageMaker's ports; here, the server listens on sockets or at free ports, which are its own flags.
_PORTS = frozenset({"SAGEMAKER_SAFE_PORT_RANGE", "SAGEMAKER_TRITON_METRICS_PORT", "SAGEMAKER_TRITON_GRPC_PORT"})
# Of each step, for the status page. Triton's own choice has 0.95 and 0.999, too, and takes half as long again.
_SUMMARIES = ("latencies=true", "quantiles=0.5:0.05,0.9:0.01,0.99:0.001")
# Variables of a container that must not reach the server on this machine.
_NOT_PASSED = frozenset({"PATH", "LD_LIBRARY_PATH"})
# With Triton's 4, as many loads that never end would stop all others. On AWS they do.
_LOAD_THREADS = 64
_METRICS_ON = ("--allow-metrics=true", "--allow-metrics=True", "--allow-metrics=1")


class SageMakerServer(ServerProcess):
    """Serves one repository as docker/sagemaker/serve does, on Unix sockets, since on SageMaker nobody reaches the
    container's ports either. Only a Triton of somebody else (``home``) has its SageMaker port open to all.

    Metrics are on unless the environment switches them off (the script's default), because the local platform reads
    them.

    Args:
        repository: the folder that the container sees: an empty one for a multi-model container.
        environment: the container's variables; by default those of a multi-model container. Ports that they name are
            without effect. What the script would refuse raises :class:`EnsembleError`.
        reach: who may talk to KServe v2, where the environment turns it on: SOCKETS or SECRET.
        release: whose script it is; that of this server by default.

    The other arguments and errors are those of :class:`ServerProcess`.
    """

    port_names: tuple[str, ...] = ("sagemaker", "metrics")
    ready_route = ("sagemaker", "/ping")

    def __init__(
        self,
        repository: Path,
        environment: Mapping[str, str] | None = None,
        *,
        release: Release = LOCAL,
        reach: Reach = Reach.SOCKETS,
        **options: Unpack[ServerOptions],
    ) -> None:
        super().__init__(**options)
        variables = {MULTI_MODEL: "true"} if environment is None else honored(environment, release)
        kept = {name: value for name, value in variables.items() if name not in _PORTS}
        platform = {
            "SAGEMAKER_BIND_TO_PORT": str(self.ports.sagemaker),
            ALLOW_METRICS: kept.get(ALLOW_METRICS) or "true",
        }
        command = server_command(kept, repository.resolve(), release, platform)
        own = self.listens("metrics", "grpc", "http", over=reach)
        if self._home is None or has_sagemaker_socket(self._home.tritonserver):
            self.sockets |= {"sagemaker"}
            self.port_names = tuple(name for name in self.port_names if name != "sagemaker")
        if reach is Reach.SECRET:
            own += self.secret.demanded(self.version, http=ALL, grpc=ALL)
        elif covers_sagemaker(self.version):
            own += self.secret.demanded(self.version, http=ALL, grpc=LOADING)
        if not any(flag.startswith(LOAD_THREADS) for flag in command.arguments):
            own.append(f"{LOAD_THREADS}{_LOAD_THREADS}")
        own += [f"--metrics-config=summary_{summary}" for summary in _SUMMARIES]
        passed = {name: value for name, value in command.environment.items() if name not in _NOT_PASSED}
        self.command = replace(command, arguments=(*command.arguments, *own), environment=passed, contained=True)
        self.metrics_on = any(flag in command.arguments for flag in _METRICS_ON)
