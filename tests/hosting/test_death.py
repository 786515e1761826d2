"""A server that dies at the worst moment, and loads that never end: which request fails, and that no other does."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.hosting.archives import CONFIG, Gate, model
from tests.hosting.conftest import Host
from tests.processes import alive, eventually, wait_for_end
from triton_ensembles.ground.processes import descendants
from triton_ensembles.hosting.container import Container
from triton_ensembles.hosting.errors import InternalFailure, ModelError
from triton_ensembles.hosting.model_cache import ModelCache
from triton_ensembles.hosting.model_processes import Usage, is_stub
from triton_ensembles.hosting.triton_api import TritonApi

pytestmark = pytest.mark.anyio

REASON = r"Failed to load model 'empty.\.tar\.gz': Python model file not found in 'empty/1/model\.py'"


@pytest.mark.parametrize("deaths", [1, 3])
async def test_a_request_that_had_not_left_when_its_server_died_is_loaded_for_by_the_next_one(
    host: Host, monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    """The next one knows nothing of the model, and would answer 404 without a word. Three deaths end the patience."""
    host.put("one.tar.gz", model())
    await host.start()
    await host.ask("one.tar.gz")
    acquire, left = ModelCache.acquire, deaths

    async def acquire_and_die(self: ModelCache, target_model: str | None) -> Any:
        nonlocal left
        acquired = await acquire(self, target_model)
        if left:
            left -= 1
            await host.die()
        return acquired

    monkeypatch.setattr(ModelCache, "acquire", acquire_and_die)
    if deaths == 3:
        with pytest.raises(InternalFailure, match=r"ended while it worked on the request.*; try again"):
            await host.ask("one.tar.gz", 2)
    assert await host.ask("one.tar.gz", 3) == [3]
    assert host.variant.snapshot().instances[0].restarts == deaths


async def test_a_model_whose_server_dies_right_after_the_load_is_loaded_by_the_next_one(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.put("one.tar.gz", model())
    await host.start()
    load, usage = TritonApi.load, Container.usage
    loads = deaths = 0

    async def counted_load(self: TritonApi, *arguments: Any) -> None:
        nonlocal loads
        await load(self, *arguments)
        loads += 1

    async def die_and_measure(self: Container) -> Usage:
        nonlocal deaths
        if loads > deaths == 0:  # the first look at the memory after the load
            deaths = 1
            await host.die()
        return await usage(self)

    monkeypatch.setattr(TritonApi, "load", counted_load)
    monkeypatch.setattr(Container, "usage", die_and_measure)
    assert await host.ask("one.tar.gz", 2) == [2]
    assert (loads, deaths) == (2, 1)
    assert host.loaded() == ["one.tar.gz"]


@pytest.mark.parametrize("deaths", [1, 2])
async def test_a_load_that_meets_a_dead_server_is_tried_once_more(
    host: Host, monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    """It has nothing to do with that death, which the platform has not even noticed yet, and is not blamed."""
    host.put("one.tar.gz", model())
    await host.start()
    load, left = TritonApi.load, deaths

    async def die_and_load(self: TritonApi, *arguments: Any) -> None:
        nonlocal left
        if left:
            left -= 1
            host.kill()
            while alive(host.pid()):
                time.sleep(0.001)  # the event loop stands still, so the platform does not notice it yet
        await load(self, *arguments)

    monkeypatch.setattr(TritonApi, "load", die_and_load)
    if deaths == 2:
        with pytest.raises(InternalFailure, match=r"ended twice before it had loaded 'one\.tar\.gz'.*; try again"):
            await host.ask("one.tar.gz")
    assert await host.ask("one.tar.gz", 2) == [2]
    assert host.variant.snapshot().instances[0].restarts == deaths
    assert deaths == 2 or not [text for text in host.told("error") if "one.tar.gz" in text]


async def test_a_load_that_triton_never_answers_fails_with_its_reason_and_holds_nobody_up(host: Host) -> None:
    """Otherwise one archive without its model.py stops all cold starts for six minutes, and ends the server. Triton
    loads four models at a time."""
    empty = [f"empty{number}.tar.gz" for number in range(6)]
    for name in empty:
        host.put(name, {"empty/config.pbtxt": CONFIG.format(name="empty").encode(), "empty/1/README.md": name.encode()})
    host.put("good.tar.gz", model())
    await host.start()
    async with asyncio.timeout(120):
        first, good = await asyncio.gather(host.ask(empty[0]), host.ask("good.tar.gz", 2), return_exceptions=True)
        assert good == [2]
        with pytest.raises(ModelError, match=REASON):
            raise first  # type: ignore[misc]
        for name in empty:  # Triton is not asked again for the first
            with pytest.raises(ModelError, match=REASON):
                await host.ask(name)
        host.put(empty[0], model("empty"))  # corrected
        assert await host.ask(empty[0], 3) == [3]
        assert await host.ask("good.tar.gz", 4) == [4]
    assert host.variant.snapshot().instances[0].restarts == 0


async def test_a_load_whose_stub_is_killed_fails_and_does_not_wait_for_its_time(host: Host) -> None:
    """The kernel does that when memory is short; Triton waits for the stub's first message for ever."""
    host.put("slow.tar.gz", model("slow"))
    await host.start()
    load = asyncio.create_task(host.ask("slow.tar.gz"))
    await eventually(lambda: any(map(is_stub, descendants(host.pid()))))
    for pid in filter(is_stub, descendants(host.pid())):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(ModelError, match=r"ended while it started|is not healthy"):
        await load
    assert host.variant.snapshot().instances[0].restarts == 0


async def test_a_load_that_takes_too_long_loses_only_its_own_model(host: Host, tmp_path: Path) -> None:
    """Otherwise everything that is loaded is lost with it."""
    gate = Gate(tmp_path)
    host.put("good.tar.gz", model())
    host.put("slow.tar.gz", model("slow", initialize=gate.wait))
    await host.start(load_seconds=15)  # enough for the other one on a busy machine
    await host.ask("good.tar.gz")
    before = host.pid()
    with pytest.raises(ModelError, match="not loaded within 15 s, so its processes were ended"):
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
    host.metrics.forget_endpoint("tested")
    await eventually(lambda: host.metric("MemoryUtilization").get("0"))
    processes = host.processes()
    await host.variant.stop()
    assert not wait_for_end(processes)
