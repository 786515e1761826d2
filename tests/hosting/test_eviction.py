"""Which models are evicted from memory and disk, which stay, and that evicted ones free their memory and space."""

import asyncio
import random
import re
from pathlib import Path

import pytest

from tests.hosting.archives import Gate, ensemble, model
from tests.hosting.conftest import Host
from tests.processes import eventually, started_by
from triton_ensembles.ground.processes import command_line, descendants, proportional_set_size
from triton_ensembles.hosting.errors import ServiceUnavailable
from triton_ensembles.sagemaker.model_state import ModelState

pytestmark = pytest.mark.anyio

MIB = 1 << 20
HEAVY = "self.ballast = np.ones(100 << 17)"  # 100 MiB; the server itself takes about 35, each Python process 20
TWO_FIT = 330 * MIB
ONE_FITS = 220 * MIB


async def test_the_least_recently_used_model_is_evicted_and_its_memory_is_freed(host: Host) -> None:
    for name in "abc":
        host.put(f"{name}.tar.gz", model(initialize=HEAVY))
    await host.start(memory_bytes=TWO_FIT)
    for name in "aba":
        await host.ask(f"{name}.tar.gz")
    await host.ask("c.tar.gz")
    assert host.loaded() == ["a.tar.gz", "c.tar.gz"]
    gone = host.status("b.tar.gz")
    assert gone.state is ModelState.ON_DISK
    pid = host.pid()
    assert not started_by(pid, gone.hash)
    assert proportional_set_size([pid, *descendants(pid)]) < TWO_FIT
    assert list(host.metric("ModelLoadingTime")) == ["a.tar.gz", "c.tar.gz"]
    assert 100 * MIB < host.status("a.tar.gz").memory_bytes < 180 * MIB
    # Its copy on the disk is loaded again, without a download; what it took last time is freed before the load.
    await host.ask("b.tar.gz")
    assert host.loaded() == ["b.tar.gz", "c.tar.gz"]
    assert "b.tar.gz" not in host.metric("ModelDownloadingTime")
    # One event says that b was evicted, and why.
    (line,) = (event.text for event in host.events.latest if "b.tar.gz is unloaded" in event.text)
    assert line.startswith("instance 0: b.tar.gz is unloaded: 'c.tar.gz' needs ")


async def test_room_is_made_ahead_of_need(host: Host) -> None:
    """So that no cold request waits for Triton's unload; which is asked for, as AWS may not do it."""
    for name in "abc":
        host.put(f"{name}.tar.gz", model(initialize=HEAVY))
    await host.start(memory_bytes=TWO_FIT, evict_ahead=True)
    for name in "ab":
        await host.ask(f"{name}.tar.gz")
    await eventually(lambda: host.status("a.tar.gz").state is ModelState.ON_DISK)
    assert host.loaded() == ["b.tar.gz"]
    assert "a.tar.gz is unloaded: the next load is to find room" in host.told("model-evicted")[0]
    await host.ask("c.tar.gz")
    await eventually(lambda: host.status("b.tar.gz").state is ModelState.ON_DISK)
    assert host.loaded() == ["c.tar.gz"]


async def test_an_unload_has_ended_when_the_ensembles_steps_have(host: Host) -> None:
    """Triton reports the ensemble as unloaded while its steps are still ending and keep their memory."""
    steps = model("slow.step", finalize="time.sleep(2)")
    host.put("slow.tar.gz", ensemble("slow", "slow.step") | steps)
    await host.start(cache="Disabled")
    left: list[int] = []

    def unloaded(_: str, kind: str, text: str) -> None:
        if kind == "model-unloaded":
            left.append(len([pid for pid in host.processes() if command_line(pid)]))  # a zombie has none

    host.events.add = unloaded  # type: ignore[method-assign]
    await host.ask("slow.tar.gz")
    assert len(host.processes()) == 2
    await eventually(lambda: left)
    assert left == [1]  # only the server


async def test_a_model_in_use_is_not_evicted_and_what_cannot_fit_is_refused(host: Host, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    host.put("huge.tar.gz", model(initialize="self.ballast = np.ones(300 << 17)"))
    host.put("busy.tar.gz", model(initialize=HEAVY, execute=f"if x[0] > 1: {gate.wait}"))
    host.put("other.tar.gz", model(initialize=HEAVY))
    await host.start(memory_bytes=ONE_FITS)
    await host.model_error("huge.tar.gz", r"Insufficient memory: .* of 220 MiB; raise --memory-budget", 507)
    assert host.loaded() == []
    await host.ask("other.tar.gz")
    await host.ask("busy.tar.gz", 0)
    long = asyncio.create_task(host.ask("busy.tar.gz", 6))
    await eventually(gate.reached)
    reason = r"not enough memory for model 'other.tar.gz': all other models are in use"
    refused = asyncio.create_task(host.ask("other.tar.gz"))
    await eventually(lambda: host.status("other.tar.gz").waits_for == "memory")
    with pytest.raises(ServiceUnavailable, match=reason):
        await refused
    assert host.status("other.tar.gz").loads == 1, "it is known not to fit, so it is not loaded"
    assert host.log.read_text().count("Loading SageMaker TargetModel: other.tar.gz") == 1
    assert not long.done()
    gate.open()
    assert await long == [6]
    assert await host.ask("other.tar.gz", 1) == [1]
    assert host.loaded() == ["other.tar.gz"]


@pytest.mark.slow
async def test_a_server_that_grows_beyond_its_budget_loses_idle_models(host: Host) -> None:
    """The one that is least recently used when the memory is measured is evicted first, until there is enough."""
    host.put("grows.tar.gz", model(execute="if x[0] > 1: self.ballast = np.ones(400 << 17)"))
    host.put("idle.tar.gz", model())
    await host.start(memory_bytes=350 * MIB)
    await host.ask("grows.tar.gz", 1)
    await host.ask("idle.tar.gz", 1)
    await host.ask("grows.tar.gz", 2)
    await eventually(lambda: "grows.tar.gz" not in host.loaded())
    for line in host.told("model-evicted"):
        assert re.search(r"(grows|idle).tar.gz is unloaded: the server has outgrown its memory budget", line)
    assert await host.ask("idle.tar.gz", 1) == [1]


@pytest.mark.parametrize("when", ["initialize", "execute"])
async def test_a_507_evicts_another_model_and_tries_again_until_nothing_is_left(host: Host, when: str) -> None:
    """To a load or to an invocation. The first model holds what the second one needs."""
    taken, full = repr(str(host.bucket / "taken")), "raise RuntimeError('CUDA out of memory')"
    host.put("first.tar.gz", model(initialize=f"open({taken}, 'w').close()", finalize=f"os.unlink({taken})"))
    host.put("second.tar.gz", model(**{when: f"if os.path.exists({taken}): {full}"}))
    host.put("never.tar.gz", model(**{when: full}))
    await host.start()
    if when == "execute":
        await host.ask("second.tar.gz")
    await host.ask("first.tar.gz")
    assert await host.ask("second.tar.gz", 7) == [7]
    assert host.loaded() == ["second.tar.gz"]
    reason = "loading 'second.tar.gz'" if when == "initialize" else "an invocation"
    assert f"answered 507 to {reason}" in host.told("model-evicted")[0]
    await host.model_error("never.tar.gz", "CUDA out of memory", 507)


async def test_a_full_disk_deletes_unloaded_models_first_and_then_idle_ones(host: Host) -> None:
    for name in "abc":
        host.put(f"{name}.tar.gz", model() | {"weights.bin": random.Random(name).randbytes(2 * MIB)})
    host.put("big.tar.gz", model() | {"weights.bin": b"\0" * (8 * MIB)})
    await host.start(disk_bytes=7 * MIB)  # a model and its archive take a little over 4 MiB
    await host.model_error("big.tar.gz", r"Insufficient disk: .* of 7 MiB; raise --disk-budget", 507)
    assert (host.files(), host.variant.snapshot().instances[0].disk_bytes) == ([], 0)
    await host.ask("a.tar.gz")
    await host.ask("b.tar.gz")
    assert len(host.files()) == 2
    await host.ask("c.tar.gz")
    assert host.model("a.tar.gz") is None
    assert host.loaded() == ["b.tar.gz", "c.tar.gz"]
    assert len(host.files()) == 2
    assert "a.tar.gz is deleted from the disk: 'c.tar.gz' needs the space" in host.told("model-deleted")[0]
    assert await host.ask("a.tar.gz", 3) == [3]


async def test_a_model_that_is_requested_while_it_is_unloaded_is_loaded_again(host: Host, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    host.put("a.tar.gz", model(initialize=HEAVY, finalize=gate.wait))
    for name in ("idle", "other"):
        host.put(f"{name}.tar.gz", model(initialize=HEAVY))
    await host.start(memory_bytes=TWO_FIT)
    await host.ask("a.tar.gz")
    await host.ask("idle.tar.gz")
    other = asyncio.create_task(host.ask("other.tar.gz", 2))
    await eventually(gate.reached)
    again = asyncio.create_task(host.ask("a.tar.gz", 1))
    await eventually(lambda: (status := host.model("a.tar.gz")) and status.misses == 2)
    assert (host.status("other.tar.gz").condition, host.status("other.tar.gz").waits_for) == ("queued", "memory")
    gate.open()
    assert await again == [1]
    assert await other == [2]
    assert host.status("a.tar.gz").loads == 2
    cold = host.status("other.tar.gz").cold_start
    assert cold is not None and cold.reason == "memory" and min(cold.wait, cold.download, cold.load) > 0
