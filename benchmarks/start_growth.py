"""How load time, memory and throughput grow with the number of loaded ensembles: clones under names of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.http_load import Door, post, put_under_load
from benchmarks.start_cold import ask, load_model, multi_model_server
from benchmarks.start_memory import memory_by_process
from triton_ensembles.archive.clones import clone, clone_names
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.triton.sagemaker_server import SageMakerServer

CONNECTIONS = 8
_WARM_UP = 2.0


@dataclass(frozen=True)
class Grown:
    """With ``loaded`` ensembles in one server.

    Attributes:
        load: seconds of POST /models, the median of those loaded since the row before.
        memory: bytes of PSS, of the server and all steps.
        throughput: requests a second over 8 connections, spread over all ensembles, the median over the rounds.
    """

    loaded: int
    load: float
    memory: int
    throughput: float


def grow(archive: Path, payload: Payload, counts: Sequence[int], seconds: float, rounds: int) -> Iterator[Grown]:
    """Load clones of ``archive`` until there are as many as each of ``counts`` says, and measure then."""
    with multi_model_server(verbose=False) as (server, scratch):
        names: list[str] = []
        loads: list[float] = []
        for path in clone(archive, clone_names(archive.name.removesuffix(".tar.gz"), max(counts)), scratch / "clones"):
            extract(path, scratch / path.stem, lambda _: None)
            name = path.name
            path.unlink()
            loads.append(load_model(server, f"m{len(names)}", scratch / path.stem, name))
            ask(server, f"/models/m{len(names)}/invoke", name, payload.body, payload.content_type)
            names.append(name)
            if len(names) in counts:
                door = _door(server, names, payload)
                rates = [_rate(door, seconds) for _ in range(rounds)]
                yield Grown(len(names), median(loads), sum(memory_by_process(server.pid).values()), median(rates))
                loads.clear()


def _rate(door: Door, seconds: float) -> float:
    return len(put_under_load(door, CONNECTIONS, seconds, _WARM_UP).finished) / seconds


def _door(server: SageMakerServer, names: Sequence[str], payload: Payload) -> Door:
    host, port = server.sagemaker_url.split(":")
    requests = [
        post(
            host,
            int(port),
            f"/models/m{number}/invoke",
            {"Content-Type": payload.content_type, "X-Amzn-SageMaker-Target-Model": name},
            payload.body,
        )
        for number, name in enumerate(names)
    ]
    return Door(host, int(port), requests)
