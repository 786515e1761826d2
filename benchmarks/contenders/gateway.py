"""The two gateways, each started as its container starts it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.aws_gateway.server import AwsGateway, Place
from benchmarks.gateway_direct import direct_target
from benchmarks.gateway_requests import MODELS
from benchmarks.http_load import HttpTarget
from benchmarks.process_usage import Memory, memory_of, seconds_by_process
from triton_ensembles.gateway.table import read_table
from triton_ensembles.processes import command_line, descendants
from triton_ensembles.triton.gateway_server import TABLE, GatewayServer


@dataclass(frozen=True)
class Running:
    """A gateway that listens on ``port``. ``front`` are the processes before Triton; ``triton`` is tritonserver's.

    ``direct`` has the same requests for Triton itself, by model; of the project's gateway only.
    """

    port: int
    front: tuple[int, ...]
    triton: int
    direct: Callable[[str], HttpTarget] | None = None

    def memory(self) -> tuple[Memory, Memory]:
        """Of all processes, and of tritonserver's alone."""
        triton = memory_of(self.triton)
        parts = [memory_of(each) for each in self.front]
        if self.triton in (child for each in self.front for child in descendants(each)):
            return parts[0], triton
        sums = (sum(getattr(each, name) for each in (*parts, triton)) for name in ("pss", "anonymous", "weights"))
        return Memory(*sums), triton

    def processor_seconds(self) -> float:
        pids = {*self.front, self.triton}
        own = [each for each in pids if not any(each in descendants(other) for other in pids)]
        return sum(sum(seconds_by_process(each).values()) for each in own)


@dataclass(frozen=True)
class GatewayContender:
    """One that takes part.

    Attributes:
        start: it is running when the context begins; whether it answers is for its client.
        tolerance: how far its scores may lie from the reference's, relative to them.
        models: with which its throughput is measured.
    """

    name: str
    about: str
    start: Callable[[], AbstractContextManager[Running]]
    tolerance: float = 0.0
    models: Sequence[str] = tuple(MODELS)


def own_gateway(
    name: str, about: str, folder: Path, tolerance: float, models: Sequence[str] = tuple(MODELS)
) -> GatewayContender:
    """The project's: its container's entry point over ``folder``, models and table."""
    return GatewayContender(name, about, partial(_own, folder), tolerance, models)


def aws_gateway(name: str, about: str, place: Place) -> GatewayContender:
    """The reference."""
    return GatewayContender(name, about, partial(_aws, place))


@contextmanager
def _own(folder: Path) -> Iterator[Running]:
    with GatewayServer(folder) as server:
        triton = next(each for each in descendants(server.pid) if "bin/tritonserver" in command_line(each))
        models = read_table(folder / TABLE).by_name
        yield Running(
            server.ports.sagemaker, (server.pid,), triton, lambda name: direct_target(server, models[name][0])
        )


@contextmanager
def _aws(place: Place) -> Iterator[Running]:
    with AwsGateway(place) as server:
        triton, *front = server.pids
        yield Running(server.port, tuple(front), triton)
