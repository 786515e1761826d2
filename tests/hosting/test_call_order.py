"""Requests, loads and unloads that come at the same time, which tritonserver 2.51.0 does not survive by itself."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.hosting.archives import CONFIG, body, ensemble, model, values, written
from tests.hosting.conftest import Host
from triton_ensembles.hosting.call_order import CallOrder
from triton_ensembles.hosting.request import Invocation
from triton_ensembles.hosting.triton_api import ContainerAnswered, TritonApi
from triton_ensembles.server.sagemaker_server import SageMakerServer

pytestmark = pytest.mark.anyio

LOADS = 1500  # beside which about ten requests failed before


@pytest.mark.slow
async def test_no_request_fails_because_another_model_is_loaded(anyio_backend: object, tmp_path: Path) -> None:
    """The loads fail, for they want a backend that is not there: so there can be many of them in a short time."""
    (repository := tmp_path / "repository").mkdir()
    asked = written(model(), tmp_path / "asked")
    loaded = []
    for number in range(40):
        config = CONFIG.format(name=f"step{number}").replace('"python"', '"nowhere"').encode()
        files = ensemble(f"ensemble{number}", f"step{number}") | {f"step{number}/config.pbtxt": config}
        loaded.append(written(files | {f"step{number}/1/model.py": b""}, tmp_path / f"loaded{number}"))
    with SageMakerServer(repository, log=tmp_path / "log") as server:
        api = TritonApi(server.sagemaker_url, tmp_path / "log")
        await api.load("asked", asked, "asked")

        async def load() -> None:
            for number in range(LOADS):
                folder = loaded[number % len(loaded)]
                with pytest.raises(ContainerAnswered, match=r"load failed for model"):
                    await api.load(folder.name, folder, folder.name)

        loading = asyncio.create_task(load())

        async def ask(value: float) -> None:
            while not loading.done():
                invocation = Invocation(body(value), "asked", {"Content-Type": "application/json"})
                reply = await api.invoke("/models/asked/invoke", invocation, 60)
                assert isinstance(reply.body, bytes) and values(reply.body) == [value]

        await asyncio.gather(loading, *(ask(number) for number in range(8)))
        api.close()


async def entered(work: asyncio.Task[None]) -> bool:
    """Whether it ends as soon as the event loop has nothing else to do."""
    for _ in range(20):
        await asyncio.sleep(0)
    return work.done()


async def test_a_load_waits_for_requests_and_requests_wait_until_it_has_begun(anyio_backend: object) -> None:
    order, stack = CallOrder(), AsyncExitStack()
    async with stack:
        with order.request() as begin:
            await begin()
            load = asyncio.create_task(stack.enter_async_context(order.load()))
            assert not load.done()
            await asyncio.sleep(0.01)
            with order.request() as begin_next:
                following = asyncio.create_task(begin_next())
                assert not await entered(following)
        begun = await load
        with order.request() as begin_third:
            third = asyncio.create_task(begin_third())
            assert not await entered(third)
            begun()
            assert await entered(third), "it need not wait until the load has ended"


async def test_loads_begin_one_after_the_other_and_run_beside_each_other_and_long_requests(
    anyio_backend: object,
) -> None:
    order, stack = CallOrder(), AsyncExitStack()
    async with stack:
        await stack.enter_context(order.request())()
        begun = await stack.enter_async_context(order.load())
        second = asyncio.create_task(stack.enter_async_context(order.load()))
        assert not await entered(second)
        begun()
        await second


async def test_a_request_is_sent_once_more_when_its_loaded_model_is_said_to_be_unknown(
    host: Host, tmp_path: Path
) -> None:
    """On a slow machine, its lookup may meet a load after all. Here the model says what the server would say."""
    flag, message = str(tmp_path / "asked"), "Request for unknown model: 'one.tar.gz' is not found"
    error = f"pb_utils.InferenceResponse(error=pb_utils.TritonError({message!r}))"
    once = f"if not os.path.exists({flag!r}): open({flag!r}, 'w').close(); answers.append({error}); continue"
    host.put("one.tar.gz", model(execute=once))
    await host.start()
    assert await host.ask("one.tar.gz", 7) == [7]
    assert Path(flag).exists()
