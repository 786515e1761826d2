"""The container as SageMaker starts it: its variables, its ports, its log."""

from pathlib import Path

import pytest

from tests.hosting.archives import model
from tests.hosting.conftest import Host
from triton_ensembles.hosting.log_file import trim_log

pytestmark = pytest.mark.anyio


async def test_a_port_in_the_environment_is_named_as_without_effect(host: Host) -> None:
    """The container listens on sockets, so that instances and updates never want the same port."""
    await host.start(environment={"SAGEMAKER_TRITON_METRICS_PORT": "many"})
    (event,) = host.observer.of("variable")
    assert "METRICS_PORT has no effect here: the endpoint's own port has Triton's metrics under /metrics" in event


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
