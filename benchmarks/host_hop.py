"""The time that a host adds to a request, and to the first one: in turn with a tritonserver that serves the same.

    python -m benchmarks.host_hop bert_trt        dist/fused/bert_trt.tar.gz, which `build --target fused` has made

Both get what the ensemble's first example says, in turn: one client, then eight. Cold: the host's first answer, and the
load of the same folder by Triton alone, also in turn.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import tritonclient.http as http

from benchmarks.many_hosts.hosts import Host
from checkout import DIST, ENSEMBLES
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.project.examples.request import infer_inputs
from triton_ensembles.sagemaker.extraction import extract
from triton_ensembles.server.repository_api import RepositoryApi
from triton_ensembles.server.triton_server import TritonServer

_TURNS, _CLIENTS, _COLD, _ROUNDS = 300, 8, 5, 10


def _client(address: str) -> http.InferenceServerClient:
    return http.InferenceServerClient(address, concurrency=_CLIENTS, network_timeout=300, connection_timeout=300)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _answer_all(client: http.InferenceServerClient, name: str, inputs: list[http.InferInput]) -> None:
    for answer in [client.async_infer(name, inputs) for _ in range(100)]:
        answer.get_result()


def measure(name: str, folder: Path) -> None:
    """Print the figures of one archive."""
    archive = DIST / "fused" / f"{name}.tar.gz"
    models = folder / "models"
    models.mkdir()
    (models / archive.name).hardlink_to(archive)
    extract(archive, folder / "unpacked", lambda _: None)
    (served,) = (path.name for path in (folder / "unpacked").iterdir() if path.is_dir())
    example = read_examples(ENSEMBLES / name).requests[0]
    inputs = infer_inputs(example.inputs)
    direct = TritonServer(folder / "unpacked", completes=False, arguments=["--model-control-mode=explicit"])
    with direct, Host(models, folder / "root") as host:
        api = RepositoryApi(direct.http_url, direct.secret)
        here, there = _client(host.address), _client(direct.http_url)
        cold = []
        for _ in range(_COLD):
            alone = _seconds(lambda: api.load(served))
            hosted = _seconds(lambda: here.infer(name, inputs))
            cold.append(hosted / alone)
            print(f"cold: Triton's load {alone:.2f} s, the host's first answer {hosted:.2f} s", flush=True)
            here.unload_model(name)
            if len(cold) < _COLD:
                api.unload(served)
        print(f"cold: the median ratio is {median(cold):.2f}")
        here.infer(name, inputs)
        pairs = [
            (_seconds(lambda: there.infer(served, inputs)), _seconds(lambda: here.infer(name, inputs)))
            for _ in range(_TURNS)
        ]
        more = median(hosted - alone for alone, hosted in pairs) * 1000
        print(f"warm, one client: median {median(pair[0] for pair in pairs) * 1000:.2f} ms, {more:+.2f} ms by the host")
        shares = []
        for _ in range(_ROUNDS):
            alone = _seconds(lambda: _answer_all(there, served, inputs))
            shares.append(alone / _seconds(lambda: _answer_all(here, name, inputs)))
        print(f"warm, {_CLIENTS} clients: {median(shares):.2f} of the throughput")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ensemble")
    with tempfile.TemporaryDirectory(prefix="host-hop-") as folder:
        measure(parser.parse_args().ensemble, Path(folder))


if __name__ == "__main__":
    main()
