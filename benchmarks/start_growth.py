"""How load time, memory and throughput grow with the number of loaded ensembles: clones with their own names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.http_load import HttpTarget, post, run_load
from benchmarks.process_usage import memory_by_process
from benchmarks.start_cold import load_model, multi_model_server
from triton_ensembles.archive.clones import clone, clone_names
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.endpoint.hosting.extract import extract

CONNECTIONS = 8
_WARM_UP = 2.0


@dataclass(frozen=True)
class GrowthPoint:
    """With ``loaded`` ensembles in one server.

    Attributes:
        load: seconds of POST /models, the median of those loaded since the row before.
        memory: bytes of PSS, of the server and all steps.
        throughput: requests per second over 8 connections, spread over all ensembles, the median over the rounds.
    """

    loaded: int
    load: float
    memory: int
    throughput: float


def grow(archive: Path, payload: Payload, counts: Sequence[int], seconds: float, rounds: int) -> Iterator[GrowthPoint]:
    """Load clones of ``archive``, and measure when there are as many as one of ``counts``."""
    with multi_model_server(verbose=False) as (server, scratch):
        host, port = server.sagemaker_url.split(":")
        requests: list[bytes] = []
        loads: list[float] = []
        for path in clone(archive, clone_names(archive.name.removesuffix(".tar.gz"), max(counts)), scratch / "clones"):
            name, number = path.name, len(requests)
            extract(path, scratch / path.stem, lambda _: None)
            path.unlink()
            loads.append(load_model(server, f"m{number}", scratch / path.stem, name))
            headers = {"Content-Type": payload.content_type, "X-Amzn-SageMaker-Target-Model": name}
            requests.append(post(host, int(port), f"/models/m{number}/invoke", headers, payload.body))
            if len(requests) in counts:
                target = HttpTarget(host, int(port), tuple(requests))
                rates = [
                    len(run_load(target, CONNECTIONS, seconds, _WARM_UP).finished) / seconds for _ in range(rounds)
                ]
                yield GrowthPoint(number + 1, median(loads), sum(memory_by_process(server.pid).values()), median(rates))
                loads.clear()
