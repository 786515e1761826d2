"""The container's log, and what a variable changes of it."""

from pathlib import Path

import pytest

from tests.hosting.archives import model
from tests.hosting.conftest import Host
from triton_ensembles.hosting.log_file import trim_log

pytestmark = pytest.mark.anyio


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
