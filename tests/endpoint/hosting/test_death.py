"""A server that dies at the worst moment: which request fails, which load is blamed, and that no other is affected."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.endpoint.hosting.archives import model
from tests.endpoint.hosting.conftest import Host, eventually
from tests.triton.test_server import alive
from triton_ensembles.endpoint.hosting.container_process import Container
from triton_ensembles.endpoint.hosting.errors import InternalFailure
from triton_ensembles.endpoint.hosting.model_cache import ModelCache
from triton_ensembles.endpoint.hosting.model_processes import Usage
from triton_ensembles.endpoint.hosting.triton_api import TritonApi

pytestmark = pytest.mark.anyio

Kill = Callable[[], Awaitable[None]]


@pytest.fixture
def die(host: Host) -> Kill:
    """Kill the server, and come back when the next one is up."""

    async def die() -> None:
        started = len(host.observer.of("instance-started"))
        host.kill()
        await eventually(lambda: len(host.observer.of("instance-started")) > started)

    return die


def kill_unseen(host: Host) -> None:
    """Kill the server, and let the platform not notice it yet."""
    pid = host.pid()
    os.kill(pid, signal.SIGKILL)
    while alive(pid):
        time.sleep(0.001)  # the event loop stands still meanwhile


@pytest.mark.parametrize("deaths", [1, 3])
async def test_a_request_that_had_not_left_when_its_server_died_is_loaded_for_by_the_next_one(
    host: Host, die: Kill, monkeypatch: pytest.MonkeyPatch, deaths: int
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
            await die()
        return acquired

    monkeypatch.setattr(ModelCache, "acquire", acquire_and_die)
    if deaths == 3:
        with pytest.raises(InternalFailure, match=r"ended while it worked on the request.*; try again"):
            await host.ask("one.tar.gz", 2)
    assert await host.ask("one.tar.gz", 3) == [3]
    assert host.variant.snapshot().instances[0].restarts == deaths


async def test_a_model_whose_server_dies_right_after_the_load_is_loaded_by_the_next_one(
    host: Host, die: Kill, monkeypatch: pytest.MonkeyPatch
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
            await die()
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
            kill_unseen(host)
        await load(self, *arguments)

    monkeypatch.setattr(TritonApi, "load", die_and_load)
    if deaths == 2:
        with pytest.raises(InternalFailure, match=r"ended twice before it had loaded 'one\.tar\.gz'.*; try again"):
            await host.ask("one.tar.gz")
    assert await host.ask("one.tar.gz", 2) == [2]
    assert host.variant.snapshot().instances[0].restarts == deaths
    assert deaths == 2 or not [text for text in host.observer.of("error") if "one.tar.gz" in text]


async def test_a_model_that_takes_the_server_with_it_is_named_and_not_tried_again(host: Host) -> None:
    host.put("evil.tar.gz", model(initialize="os.kill(os.getppid(), 9)"))
    host.put("good.tar.gz", model())
    await host.start()
    with pytest.raises(InternalFailure, match=r"the container died while it loaded 'evil\.tar\.gz'"):
        await host.ask("evil.tar.gz")
    assert await host.ask("good.tar.gz", 2) == [2]
    assert host.variant.snapshot().instances[0].restarts == 1
