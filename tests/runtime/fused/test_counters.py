"""The counters of a fused ensemble with two instances, through the death of its processes and its unloading."""

import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http
from prometheus_client.parser import text_string_to_metric_families

from tests import chain
from tests.processes import wait_until
from tests.running import serving
from triton_ensembles.building.places import Places
from triton_ensembles.ground.processes import descendants
from triton_ensembles.server.clients import http_client
from triton_ensembles.server.triton_server import TritonServer


@pytest.fixture(scope="module")
def two(places: Places, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """A server that has loaded a fused ensemble with two instances, and can unload it."""
    built = chain.build_fused_chain(tmp_path_factory.mktemp("two"), places.store, instances=2)
    explicit = ("--model-control-mode=explicit", f"--load-model={chain.NAME}")
    with serving(TritonServer([built.repository], arguments=explicit)) as server:
        yield server


def counted(server: TritonServer) -> dict[str, int]:
    """The requests of each step, summed over the instances."""
    with urllib.request.urlopen(f"http://{server.metrics_url}/metrics") as reply:
        families = list(text_string_to_metric_families(reply.read().decode()))
    found: dict[str, int] = {}
    for sample in (each for family in families for each in family.samples):
        if sample.name == "fused_step_requests_total":
            assert sample.labels.keys() == {"model", "version", "model_instance", "step"}
            found[sample.labels["step"]] = found.get(sample.labels["step"], 0) + int(sample.value)
    return found


def ask(server: TritonServer, times: int) -> None:
    """Keep both instances busy with this many requests."""
    given = http.InferInput("X", [1, 3], "FP32")
    given.set_data_from_numpy(np.ones((1, 3), np.float32))
    with http.InferenceServerClient(server.http_url, concurrency=4) as client:
        requests = [client.async_infer(chain.NAME, [given]) for _ in range(times)]
        assert [request.get_result().as_numpy("Y").tolist() for request in requests] == [[[3.0, 3.0, 3.0]]] * times


def workers(server: TritonServer) -> list[int]:
    """The processes that the steps run in, which are children of Triton's stubs."""
    return [worker for process in descendants(server.pid) for worker in descendants(process)]


def test_instances_add_up_also_after_their_processes_died(two: TritonServer) -> None:
    """Triton 24.10 dies when an instance counts with a metric that another one has deleted."""
    ask(two, 20)
    wait_until(lambda: counted(two) == dict.fromkeys(chain.STEPS, 20))
    for death, worker in enumerate(workers(two) * 2, 1):
        if Path(f"/proc/{worker}").exists():
            os.kill(worker, signal.SIGKILL)
        ask(two, 20)
        wait_until(lambda: counted(two) == dict.fromkeys(chain.STEPS, 20 * (death + 1)))  # noqa: B023
    assert two.alive()


def test_they_end_with_the_model_and_begin_again_with_it(two: TritonServer) -> None:
    """Otherwise a server that loads and unloads thousands of models keeps the steps of all of them."""
    with http_client(two) as client:
        ask(two, 4)
        for _ in range(3):
            client.unload_model(chain.NAME)
            wait_until(lambda: not client.is_model_ready(chain.NAME) and not counted(two))
            client.load_model(chain.NAME)
            ask(two, 6)
            wait_until(lambda: counted(two) == dict.fromkeys(chain.STEPS, 6))
