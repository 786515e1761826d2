"""Many clients, more models than memory, a server that is killed: no wrong answer, and nothing hangs."""

import asyncio
import random

import pytest

from tests.hosting.archives import model
from tests.hosting.conftest import Host
from tests.processes import eventually
from triton_ensembles.hosting.errors import HostingError, InternalFailure, ServiceUnavailable

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

MIB = 1 << 20
SECONDS = 10
ENOUGH = 20  # answers; on a slow machine the clients go on until they have them


@pytest.mark.parametrize(("cache", "instances"), [("Enabled", 2), ("Disabled", 1)])
async def test_every_request_gets_its_own_answer_or_an_error_that_says_why(
    host: Host, cache: str, instances: int
) -> None:
    models = {f"m{number}.tar.gz": float(number) for number in range(5)}
    for name, number in models.items():
        host.put(name, model(initialize="self.ballast = np.ones(40 << 17)", execute=f"x = x + {number}"))
    await host.start(cache=cache, instances=instances, memory_bytes=300 * MIB)
    rng = random.Random(7)
    loop = asyncio.get_running_loop()
    end = loop.time() + SECONDS
    answered = 0

    async def client() -> None:
        nonlocal answered
        while loop.time() < end or answered < ENOUGH:
            name, value = rng.choice(list(models)), float(rng.randrange(1000))
            asking = asyncio.create_task(host.ask(name, value))
            if rng.random() < 0.1:  # hangs up
                await asyncio.sleep(rng.random())
                asking.cancel()
            try:
                assert await asking == [value + models[name]]
                answered += 1
            except (InternalFailure, ServiceUnavailable) as error:
                assert error.cure
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                assert asking.cancelled()

    async def killer() -> None:
        for _ in range(2):
            await asyncio.sleep(SECONDS / 3)
            if host.variant.snapshot().instances[0].ready:
                host.kill()

    async with asyncio.timeout(SECONDS + 120):
        await asyncio.gather(killer(), *(client() for _ in range(8)))
        while True:  # until everything works again
            try:
                answers = [await host.ask(name, 1) for name in models]
                break
            except HostingError:
                await asyncio.sleep(0.2)
    assert answers == [[1 + number] for number in models.values()]
    for instance in host.variant.snapshot().instances:
        assert instance.in_flight == 0
        assert all(each.in_use == 0 for each in instance.models)
    await eventually(lambda: host.variant.snapshot().instances[0].restarts)  # it may be coming up beside the other one
