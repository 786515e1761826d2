"""Loads and unloads that overlap: what they may take together, which of them is blamed, and which has to wait."""

import asyncio
from pathlib import Path

import pytest

from tests.hosting.archives import Gate, ensemble, model
from tests.hosting.conftest import Host
from tests.processes import eventually
from triton_ensembles.ground.processes import descendants, proportional_set_size
from triton_ensembles.hosting.errors import InternalFailure, ModelError

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

MIB, GIB = 1 << 20, 1 << 30


async def test_the_memory_stays_within_the_budget_while_many_models_come_and_go(host: Host) -> None:
    names = [f"{name}.tar.gz" for name in "abcdef"]
    for name in names:
        host.put(name, model(initialize="self.ballast = np.ones(60 << 17)"))
    budget = 300 * MIB  # two fit: the server takes about 35 MiB, each of the others 80
    await host.start(memory_bytes=budget)
    pid = host.pid()
    samples: list[int] = []

    async def sample() -> None:
        while True:
            samples.append(await asyncio.to_thread(lambda: proportional_set_size([pid, *descendants(pid)])))
            await asyncio.sleep(0.02)

    sampling = asyncio.create_task(sample())
    for _ in range(2):
        answers = await asyncio.gather(*(host.ask(name, number) for number, name in enumerate(names)))
        assert answers == [[number] for number in range(len(names))]
    sampling.cancel()
    assert max(samples) <= budget
    assert max(samples) > 150 * MIB
    assert len(host.loaded()) >= 2


async def known(host: Host, *names: str) -> None:
    """Load and unload these models, so that it is known what they take."""
    for name in names:
        await host.ask(name)
    await eventually(lambda: not host.variant.snapshot().instances[0].models)


async def test_a_load_waits_neither_for_another_load_nor_for_an_unload_where_there_is_memory(
    host: Host, tmp_path: Path
) -> None:
    loading, unloading = Gate(tmp_path / "loading"), Gate(tmp_path / "unloading")
    flag = tmp_path / "wait"
    for gate in (loading, unloading):
        gate.folder.mkdir()
    host.put("slow.tar.gz", model(initialize=f"if os.path.exists({str(flag)!r}): {loading.wait}"))
    host.put("ends.tar.gz", model(finalize=f"if os.path.exists({str(flag)!r}): {unloading.wait}"))
    host.put("quick.tar.gz", model())
    await host.start(cache="Disabled")
    await known(host, "slow.tar.gz", "ends.tar.gz", "quick.tar.gz")
    flag.touch()
    slow = asyncio.create_task(host.ask("slow.tar.gz", 1))
    assert await host.ask("ends.tar.gz", 2) == [2]
    await eventually(lambda: loading.reached() and unloading.reached())
    assert await host.ask("quick.tar.gz", 3) == [3]
    assert not slow.done()
    loading.open()
    unloading.open()
    assert await slow == [1]


async def test_only_the_model_that_takes_the_server_with_it_is_blamed(host: Host, tmp_path: Path) -> None:
    flag = tmp_path / "kill"
    host.put("evil.tar.gz", model(initialize=f"if os.path.exists({str(flag)!r}): os.kill(os.getppid(), 9)"))
    good = [f"good{number}.tar.gz" for number in range(2)]
    for name in good:  # unloading takes so long that the next load would run beside it
        host.put(name, model(initialize="time.sleep(0.5)", finalize="time.sleep(3)"))
    await host.start(cache="Disabled")
    await known(host, *good, "evil.tar.gz")
    flag.touch()

    async def patient(name: str) -> list[float]:
        while True:
            try:
                return await host.ask(name, 2)
            except InternalFailure as error:  # it was loaded, and answered when the server died, perhaps both times
                assert "ended while it worked on the request" in error.message

    *answers, failure = await asyncio.gather(
        *(patient(name) for name in good), host.ask("evil.tar.gz"), return_exceptions=True
    )
    assert answers == [[2], [2]]
    assert isinstance(failure, InternalFailure) and "died while it loaded 'evil.tar.gz'" in failure.message


async def test_a_load_that_fails_beside_others_has_its_own_reason(host: Host, tmp_path: Path) -> None:
    flag = tmp_path / "fail"
    names = ["red", "blue"]
    for name in names:
        raising = f"if os.path.exists({str(flag)!r}): time.sleep(0.2); raise RuntimeError('it is {name}')"
        host.put(f"{name}.tar.gz", model(initialize=raising))
    await host.start(cache="Disabled")
    await known(host, *(f"{name}.tar.gz" for name in names))
    flag.touch()
    failures = await asyncio.gather(*(host.ask(f"{name}.tar.gz") for name in names), return_exceptions=True)
    for name, failure in zip(names, failures, strict=True):
        assert isinstance(failure, ModelError)
        other = names[1 - names.index(name)]
        assert f"it is {name}" in failure.message and f"it is {other}" not in failure.message


async def test_archives_with_equal_step_names_do_not_wait_for_each_other_forever(host: Host) -> None:
    """AWS's notebooks upload one archive under many names. Triton must not load one and unload another at a time."""
    names = [f"copy{number}.tar.gz" for number in range(3)]
    for number, name in enumerate(names):
        step = model("step", execute=f"x = x + {number}")
        host.put(name, ensemble("ensemble", "step") | step)
    await host.start(cache="Disabled")
    for _ in range(2):
        assert await asyncio.gather(*(host.ask(name, 10) for name in names)) == [[10], [11], [12]]
