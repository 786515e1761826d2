"""The time that a host adds to a request, and to the first one: in turn with a tritonserver that serves the same.

    python -m benchmarks.host_hop bert_trt        dist/fused/bert_trt.tar.gz, which `build --target fused` has made

All get what the ensemble's first example says: one client, then eight. Between client and a Triton of its own, a bare
reverse proxy (bare_proxy.py) shows what a process there costs that does nothing. Cold: the host's first answer, and
the load and the first answer of the same folder by Triton alone.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import tritonclient.http as http

from benchmarks.many_hosts.hosts import Host
from checkout import DIST, ENSEMBLES, ROOT
from tests.processes import wait_until
from triton_ensembles.ground.processes import descendants, die_with_parent
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.project.examples.request import infer_inputs
from triton_ensembles.sagemaker.extraction import extract
from triton_ensembles.server.repository_api import RepositoryApi
from triton_ensembles.server.triton_server import TritonServer

_TURNS, _CLIENTS, _COLD, _ROUNDS, _BATCH = 300, 8, 15, 10, 100
Ask = Callable[[], object]


@contextmanager
def _proxy(target: str) -> Iterator[str]:
    """The address of a bare proxy before ``target``."""
    command = [sys.executable, "-m", "benchmarks.bare_proxy", target]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, preexec_fn=die_with_parent()) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.terminate()


def _seconds(work: Ask) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _answer_all(client: http.InferenceServerClient, model: str, inputs: list[http.InferInput]) -> None:
    for answer in [client.async_infer(model, inputs) for _ in range(_BATCH)]:
        answer.get_result()


def _cold(direct: TritonServer, served: str, alone: Ask, hosted: Ask, unload: Ask) -> None:
    """Print what the first answers take. The host's very first one, which unpacks the archive, does not count."""
    api, processes = RepositoryApi(direct.http_url, direct.secret), len(descendants(direct.pid))
    print(f"cold, not unpacked yet: {_seconds(hosted):.2f} s")
    turns = []
    for _ in range(_COLD):
        unload()
        load = _seconds(lambda: api.load(served))
        first = load + _seconds(alone)
        api.unload(served)
        wait_until(lambda: len(descendants(direct.pid)) <= processes)
        turns.append((load, first, _seconds(hosted)))
    load, first, host = map(median, zip(*turns, strict=True))
    print(f"cold: {load:.3f} s to load in Triton, {first:.3f} s to its first answer, {host:.3f} s to that of the host")
    ratios = [f"{median(turn[2] / turn[other] for turn in turns):.2f}" for other in (0, 1)]
    print(f"cold, by the host: {ratios[0]} of Triton's load, {ratios[1]} of its first answer", flush=True)
    api.load(served)


def _warm(asks: Sequence[Ask], crowds: Sequence[Ask]) -> None:
    """Print what the proxy and the host take beyond Triton alone."""
    turns = [[_seconds(ask) for ask in asks] for _ in range(_TURNS)]
    more = [f"{median(turn[other] - turn[0] for turn in turns) * 1000:+.2f} ms" for other in (1, 2)]
    own = median(turn[0] for turn in turns) * 1000
    print(f"warm, one client: {own:.2f} ms by Triton, {more[0]} by a bare proxy, {more[1]} by the host", flush=True)
    turns = [[_seconds(ask) for ask in crowds] for _ in range(_ROUNDS)]
    shares = [f"{median(turn[0] / turn[other] for turn in turns):.2f}" for other in (1, 2)]
    print(f"warm, {_CLIENTS} clients: {shares[0]} of the throughput by a bare proxy, {shares[1]} by the host")


def measure(name: str, folder: Path) -> None:
    """Print the figures of one archive."""
    archive = DIST / "fused" / f"{name}.tar.gz"
    models = folder / "models"
    models.mkdir()
    (models / archive.name).hardlink_to(archive)
    extract(archive, folder / "unpacked", lambda _: None)
    (served,) = (path.name for path in (folder / "unpacked").iterdir() if path.is_dir())
    inputs = infer_inputs(read_examples(ENSEMBLES / name).requests[0].inputs)
    options = ["--model-control-mode=explicit"]
    direct, behind = (TritonServer(folder / "unpacked", completes=False, arguments=options) for _ in range(2))
    with direct, behind, Host(models, folder / "root") as host, _proxy(behind.http_url) as proxy:
        addresses = {direct.http_url: served, proxy: served, host.address: name}
        clients = [http.InferenceServerClient(address, concurrency=_CLIENTS) for address in addresses]
        named = list(zip(clients, addresses.values(), strict=True))
        asks = [partial(client.infer, model, inputs) for client, model in named]
        _cold(direct, served, asks[0], asks[2], lambda: clients[2].unload_model(name))
        RepositoryApi(behind.http_url, behind.secret).load(served)
        for ask in asks * 10:
            ask()
        _warm(asks, [partial(_answer_all, client, model, inputs) for client, model in named])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ensemble")
    with tempfile.TemporaryDirectory(prefix="host-hop-") as folder:
        measure(parser.parse_args().ensemble, Path(folder))


if __name__ == "__main__":
    main()
