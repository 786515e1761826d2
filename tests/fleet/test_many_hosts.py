"""Two real hosts behind the real HAProxy, with the config of ``export haproxy``; benchmarks/many_hosts has four."""

import itertools
from collections.abc import Iterator

import pytest
import requests

from benchmarks.many_hosts.hosts import Host, Running, balanced, hosts_of
from benchmarks.soak.models import name_of, write_models
from benchmarks.soak.traffic import host_clients, under_load

pytestmark = pytest.mark.slow
MODELS = 6


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Host], Running]]:
    """The hosts, and the balancer before them."""
    folder = tmp_path_factory.mktemp("fleet")
    archives = folder / "archives"
    archives.mkdir()
    for path in list(write_models(MODELS, folder / "packed")):
        path.rename(archives / path.name)
    with hosts_of(archives, folder, 2, 4 << 30) as hosts, balanced(hosts, folder) as balancer:
        balancer.wait_for(2)
        yield hosts, balancer


def places(hosts: list[Host], number: int) -> list[int]:
    """Which hosts have loaded the model."""
    return [at for at, host in enumerate(hosts) if host.loaded(name_of(number))]


def test_each_model_is_on_one_host(two: tuple[list[Host], Running]) -> None:
    """Otherwise the memory of all hosts holds the same models, and one of them is unloaded on the wrong host."""
    hosts, balancer = two
    traffic = host_clients(balancer.address, [*range(MODELS), *range(MODELS)], 1).join()
    assert (traffic.answered, traffic.wrong) == (2 * MODELS, 0), traffic.failures
    found = [places(hosts, number) for number in range(MODELS)]
    assert all(len(each) == 1 for each in found), found
    assert len({at for each in found for at in each}) == 2, found
    answer = requests.post(f"http://{balancer.address}/v2/repository/models/{name_of(0)}/unload", timeout=60)
    assert answer.status_code == 200, answer.text
    assert places(hosts, 0) == []


def test_a_host_that_is_killed_or_restarted_loses_no_request(two: tuple[list[Host], Running]) -> None:
    """Otherwise clients see errors whenever a machine fails, and during each rollout."""
    hosts, balancer = two
    with under_load(balancer.address, itertools.cycle(range(MODELS)), 4) as traffic:
        hosts[0].kill()
    hosts[0].start()
    balancer.wait_for(2)
    assert (traffic.failed, traffic.wrong) == (0, 0), traffic.failures
    with under_load(balancer.address, itertools.cycle(range(MODELS)), 4) as traffic:
        for host in hosts:
            host.stop()
            host.start()
            balancer.wait_for(2)
    assert (traffic.failed, traffic.wrong) == (0, 0), traffic.failures


def test_the_balancer_says_whether_any_host_is_ready(two: tuple[list[Host], Running]) -> None:
    """Otherwise a client waits for a service that nobody serves, or Kubernetes ends a balancer that works."""
    hosts, balancer = two
    assert requests.get(f"http://{balancer.address}/v2/health/ready", timeout=60).status_code == 200
    for host in hosts:
        host.stop()
    codes = {path: [] for path in ("live", "ready")}
    for path, seen in codes.items():
        while not seen or (path == "ready" and seen[-1] == 200):
            seen.append(requests.get(f"http://{balancer.address}/v2/health/{path}", timeout=60).status_code)
    assert (codes["live"], codes["ready"][-1]) == ([200], 503)
