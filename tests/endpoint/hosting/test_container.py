"""The container as SageMaker starts it: its variables, its ports, its log."""

from pathlib import Path

import pytest

from tests.endpoint.hosting.archives import model
from tests.endpoint.hosting.conftest import Host
from tests.running import sent
from triton_ensembles.endpoint.hosting.variant import trim_log
from triton_ensembles.triton.ports import Ports

pytestmark = pytest.mark.anyio


def metrics(url: str) -> str:
    return sent(url, "GET", "/metrics")[1].decode()


async def test_tritons_own_metrics_are_on_the_port_that_was_set_until_another_server_has_it(host: Host) -> None:
    """Otherwise an endpoint with a port in its environment can never be updated: two generations want it."""
    host.put("one.tar.gz", model())
    with Ports.reserved() as ports:
        environment = {"SAGEMAKER_TRITON_METRICS_PORT": str(ports.metrics)}
        await host.start(instances=2, environment=environment)
    old = host.variant
    first, second = (str(instance.metrics_url) for instance in old.snapshot().instances)
    assert first == f"127.0.0.1:{ports.metrics}" != second
    await host.ask("one.tar.gz")
    assert 'nv_inference_count{model="one.tar.gz"' in metrics(first) + metrics(second)
    host.root = host.root.with_name("updated")
    await host.start(environment=environment)
    assert host.variant.snapshot().instances[0].metrics_url != first
    assert f"port {ports.metrics} of SAGEMAKER_TRITON_METRICS_PORT is another server's" in host.observer.of("port")[-1]
    await old.stop()


async def test_the_log_is_only_verbose_and_metrics_are_only_off_when_that_is_asked_for(host: Host) -> None:
    """It takes kilobytes for each request, and fills the disk within hours."""
    host.put("one.tar.gz", model())
    await host.start()
    await host.ask("one.tar.gz")
    before = host.log.stat().st_size
    for _ in range(10):
        await host.ask("one.tar.gz")
    assert host.log.stat().st_size - before < 1000
    await host.close()
    host.root = host.root.with_name("verbose")
    changed = {"SAGEMAKER_TRITON_LOG_VERBOSE": "true", "SAGEMAKER_TRITON_ALLOW_METRICS": "false"}
    await host.start(environment=changed)
    assert host.variant.snapshot().instances[0].metrics_url is None
    await host.ask("one.tar.gz")
    before = host.log.stat().st_size
    await host.ask("one.tar.gz")
    assert host.log.stat().st_size - before > 1000


def test_a_log_that_has_grown_too_large_is_emptied_in_place(tmp_path: Path) -> None:
    log = tmp_path / "endpoint.log"
    with log.open("ab") as server:
        server.write(b"old" * 10)
        server.flush()
        trim_log(log, 1000)
        assert log.stat().st_size == 30
        trim_log(log, 20)
        server.write(b"new")
    assert log.read_bytes() == b"new"
    assert (tmp_path / "endpoint.log.1").read_bytes() == b"old" * 10


async def test_models_see_the_environment_of_a_container_and_no_secret_of_the_developer(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an archive of somebody else reads AWS keys and tokens, and models that need them work only here."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of the developer")
    monkeypatch.setenv("SOME_TOKEN", "of the developer")
    asked = "['of the developer' in os.environ.values(), 'HOME' in os.environ, os.environ.get('MODE') == 'b']"
    host.put("curious.tar.gz", model(execute=f"x = x * 0 + {asked}"))
    await host.start(environment={"MODE": "b"})
    assert await host.ask("curious.tar.gz", 1, 1, 1) == [0, 1, 1]
