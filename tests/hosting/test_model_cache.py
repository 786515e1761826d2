"""A model from the first request for it to its deletion from the disk."""

import asyncio
from pathlib import Path

import pytest

from tests.hosting.archives import Gate, model
from tests.hosting.conftest import Host
from tests.processes import eventually
from triton_ensembles.hosting.errors import ModelNotReadyException

pytestmark = pytest.mark.anyio


async def test_a_hundred_requests_for_a_cold_model_load_it_once(shared: Host) -> None:
    shared.put("hot.tar.gz", model())
    answers = await asyncio.gather(*(shared.ask("hot.tar.gz", number) for number in range(100)))
    assert answers == [[number] for number in range(100)]
    assert shared.status("hot.tar.gz").loads == 1
    assert shared.metric("ModelDownloadingTime")["hot.tar.gz"] == 1
    assert shared.log.read_text().count("Loading SageMaker TargetModel: hot.tar.gz") == 1


async def test_a_new_key_needs_nothing_and_a_new_object_under_an_old_key_is_not_picked_up(shared: Host) -> None:
    shared.put("one.tar.gz", model(execute="x = x + 1"))
    assert await shared.ask("one.tar.gz", 1) == [2]
    shared.put("one.tar.gz", model(execute="x = x + 10"))
    shared.put("two.tar.gz", model(execute="x = x + 100"))
    assert await shared.ask("one.tar.gz", 1) == [2]
    assert await shared.ask("two.tar.gz", 1) == [101]


async def test_a_config_at_the_root_of_the_archive_is_the_model(shared: Host) -> None:
    files = {name.partition("/")[2]: content for name, content in model("model").items()}
    shared.put("flat.tar.gz", files)
    assert await shared.ask("flat.tar.gz", 3) == [3]


async def test_after_a_minute_the_client_gets_a_429_while_the_load_goes_on(host: Host, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    host.put("slow.tar.gz", model(initialize=gate.wait))
    await host.start(invoke_seconds=5)  # by then even a busy machine is loading it
    first = asyncio.create_task(host.ask("slow.tar.gz"))
    await eventually(gate.reached)
    with pytest.raises(ModelNotReadyException, match=r"slow.tar.gz.*is not ready after 5 s: it is loading"):
        await host.ask("slow.tar.gz")
    with pytest.raises(ModelNotReadyException):
        await first
    variant = host.variant.snapshot()
    (error,) = variant.errors
    assert (error.target_model, error.times, variant.instances[0].not_ready) == ("slow.tar.gz", 2, 2)
    gate.open()
    await eventually(lambda: host.loaded() == ["slow.tar.gz"])
    assert await host.ask("slow.tar.gz", 5) == [5]
    assert host.status("slow.tar.gz").loads == 1


async def test_with_the_cache_disabled_a_model_is_deleted_as_soon_as_no_request_uses_it(host: Host) -> None:
    host.put("one.tar.gz", model())
    await host.start(cache="Disabled")
    assert await asyncio.gather(host.ask("one.tar.gz", 1), host.ask("one.tar.gz", 2)) == [[1], [2]]
    await eventually(lambda: host.model("one.tar.gz") is None)
    await eventually(lambda: host.files() == [])
    host.put("one.tar.gz", model(execute="x = x + 10"))
    assert await host.ask("one.tar.gz", 1) == [11]


async def test_several_instances_share_the_requests_and_each_model_stays_where_it_is(host: Host) -> None:
    for name in "abcd":
        host.put(f"{name}.tar.gz", model(execute="time.sleep(0.2)"))
    await host.start(instances=2)
    await asyncio.gather(*(host.ask(f"{name}.tar.gz") for name in "abcd"))

    def where() -> list[set[str]]:
        return [{each.target_model for each in instance.models} for instance in host.variant.snapshot().instances]

    before = where()
    assert [len(each) for each in before] == [2, 2]
    await asyncio.gather(*(host.ask(f"{name}.tar.gz") for name in "abcd"))
    assert where() == before
    lines = [line.split() for line in host.log.read_text().splitlines() if line.startswith("I")]
    assert {int(words[2]) for words in lines} == {host.pid(0), host.pid(1)}
    await host.variant.resize(1)
    assert set(host.metric("ModelLoadingTime")) == before[0]
