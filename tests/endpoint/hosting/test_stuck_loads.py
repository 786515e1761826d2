"""Loads that never end: Triton logs why and never answers, or a step's initialize does not return."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.endpoint.hosting.archives import CONFIG, Gate, model
from tests.endpoint.hosting.conftest import Host
from tests.triton.test_server import wait_for_end
from triton_ensembles.endpoint.hosting.errors import ModelError

pytestmark = pytest.mark.anyio

WITHOUT_CODE = {"empty/config.pbtxt": CONFIG.format(name="empty").encode(), "empty/1/README.md": b""}
REASON = r"Failed to load model 'empty\.tar\.gz': Python model file not found in 'empty/1/model\.py'"


async def test_a_load_that_triton_never_answers_fails_with_its_reason_and_holds_nobody_up(host: Host) -> None:
    """Otherwise one archive without its model.py stops all cold starts for six minutes, and ends the server."""
    host.put("empty.tar.gz", WITHOUT_CODE)
    host.put("good.tar.gz", model())
    await host.start()
    async with asyncio.timeout(120):
        first, good = await asyncio.gather(host.ask("empty.tar.gz"), host.ask("good.tar.gz", 2), return_exceptions=True)
        assert good == [2]
        with pytest.raises(ModelError, match=REASON):
            raise first  # type: ignore[misc]
        with pytest.raises(ModelError, match=REASON):  # Triton is not asked again
            await host.ask("empty.tar.gz")
    assert host.variant.snapshot().instances[0].restarts == 0
    host.put("empty.tar.gz", model("empty"))  # corrected: Triton takes its name only after a restart
    assert await host.ask("empty.tar.gz", 3) == [3]
    assert await host.ask("good.tar.gz", 4) == [4]
    assert host.variant.snapshot().instances[0].restarts == 1


async def test_a_load_that_takes_too_long_loses_only_its_own_model(host: Host, tmp_path: Path) -> None:
    """Otherwise everything that is loaded is lost with it."""
    gate = Gate(tmp_path)
    host.put("good.tar.gz", model())
    host.put("slow.tar.gz", model("slow", initialize=gate.wait))
    await host.start(load_seconds=8)
    await host.ask("good.tar.gz")
    before = host.pid()
    with pytest.raises(ModelError, match="not loaded within 8 s, so its processes were ended"):
        await host.ask("slow.tar.gz")
    assert host.loaded() == ["good.tar.gz"] and host.pid() == before
    assert await host.ask("good.tar.gz", 5) == [5]
    gate.open()
    assert await host.ask("slow.tar.gz", 6) == [6]


async def test_a_log_that_is_removed_takes_nothing_with_it(host: Host) -> None:
    """Otherwise every cold start fails, memory is measured no more, and the server outlives its endpoint."""
    host.put("good.tar.gz", model())
    host.put("bad.tar.gz", model("bad", initialize="raise ValueError('as it should')"))
    await host.start()
    host.log.unlink()
    assert await host.ask("good.tar.gz", 1) == [1]
    with pytest.raises(ModelError, match="as it should"):
        await host.ask("bad.tar.gz")
    host.observer.metrics.clear()
    await host.variant._instances[0].measure()  # as every ten seconds
    assert host.observer.values("MemoryUtilization") > [0]
    processes = host.processes()
    await host.variant.stop()
    assert not wait_for_end(processes)
