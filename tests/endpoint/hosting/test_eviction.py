"""Which models are evicted from memory and disk, which stay, and that evicted ones free their memory and space."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path

import pytest

from tests.endpoint.hosting.archives import Gate, ensemble, model
from tests.endpoint.hosting.conftest import Host, eventually
from triton_ensembles.endpoint.hosting.errors import ModelError, ServiceUnavailable
from triton_ensembles.ground.processes import command_line, descendants, proportional_set_size
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
    gone = host.model("b.tar.gz")
    assert gone is not None and gone.state is ModelState.ON_DISK
    pid = host.pid()
    assert not [each for each in descendants(pid) if gone.hash in command_line(each)]
    assert proportional_set_size([pid, *descendants(pid)]) < TWO_FIT
    assert "b.tar.gz is unloaded" in host.observer.of("model-evicted")[0]
    assert host.observer.forgotten == ["b.tar.gz"]  # by /metrics
    loaded = host.model("a.tar.gz")
    assert loaded is not None and 100 * MIB < loaded.memory_bytes < 180 * MIB
    # Its copy on the disk is loaded again, without a download; what it took last time is freed before the load.
    await host.ask("b.tar.gz")
    assert host.loaded() == ["b.tar.gz", "c.tar.gz"]
    assert len(host.observer.values("ModelDownloadingTime")) == 3
    # One event says that b was evicted, and why.
    (line,) = (text for _, text in host.observer.events if "b.tar.gz is unloaded" in text)
    assert line.startswith("instance 0: b.tar.gz is unloaded: 'c.tar.gz' needs ")


async def test_an_unload_has_ended_when_the_ensembles_steps_have(host: Host) -> None:
    """Triton reports the ensemble as unloaded while its steps are still ending and keep their memory."""
    steps = model("slow.step")
    steps["slow.step/1/model.py"] += b"\n    def finalize(self):\n        time.sleep(2)\n"
    host.put("slow.tar.gz", ensemble("slow", "slow.step") | steps)
    await host.start(cache="Disabled")
    left: list[int] = []

    def unloaded(_: str, kind: str, text: str) -> None:
        if kind == "model-unloaded":
            left.append(len([pid for pid in host.processes() if command_line(pid)]))  # a zombie has none

    host.observer.add = unloaded  # type: ignore[method-assign]
    await host.ask("slow.tar.gz")
    assert len(host.processes()) == 2
    await eventually(lambda: left)
    assert left == [1]  # only the server


async def test_a_model_in_use_is_not_evicted(host: Host, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    host.put("busy.tar.gz", model(initialize=HEAVY, execute=f"if x[0] > 1: {gate.wait}"))
    host.put("other.tar.gz", model(initialize=HEAVY))
    await host.start(memory_bytes=ONE_FITS)
    await host.ask("busy.tar.gz", 0)
    long = asyncio.create_task(host.ask("busy.tar.gz", 6))
    await eventually(gate.reached)
    with pytest.raises(
        ServiceUnavailable, match=r"not enough memory for model 'other.tar.gz': all other models are in use"
    ):
        await host.ask("other.tar.gz")
    assert not long.done()
    gate.open()
    assert await long == [6]
    assert await host.ask("other.tar.gz", 1) == [1]
    assert host.loaded() == ["other.tar.gz"]


async def test_a_model_larger_than_the_budget_is_refused_with_the_numbers(host: Host) -> None:
    host.put("huge.tar.gz", model(initialize=HEAVY))
    await host.start(memory_bytes=100 * MIB)
    with pytest.raises(ModelError, match=r"Insufficient memory: .* of 100 MiB; raise --memory-budget") as caught:
        await host.ask("huge.tar.gz")
    assert caught.value.original_status == 507
    assert host.loaded() == []


async def test_a_server_that_grows_beyond_its_budget_loses_idle_models(host: Host) -> None:
    """The one that is least recently used when the memory is measured is evicted first, until there is enough."""
    host.put("grows.tar.gz", model(execute="if x[0] > 1: self.ballast = np.ones(400 << 17)"))
    host.put("idle.tar.gz", model())
    await host.start(memory_bytes=350 * MIB)
    await host.ask("grows.tar.gz", 1)
    await host.ask("idle.tar.gz", 1)
    await host.ask("grows.tar.gz", 2)
    await eventually(lambda: "grows.tar.gz" not in host.loaded())
    for line in host.observer.of("model-evicted"):
        assert re.search(r"(grows|idle).tar.gz is unloaded: the server has outgrown its memory budget", line)
    assert await host.ask("idle.tar.gz", 1) == [1]


def takes_the_gpu(host: Host) -> tuple[dict[str, bytes], str]:
    """A model that holds a resource while it is loaded, and a line that fails in other models while it is held."""
    flag = host.bucket / "taken"
    files = model(initialize=f"open({str(flag)!r}, 'w').close()")
    files["identity/1/model.py"] += f"\n    def finalize(self):\n        os.unlink({str(flag)!r})\n".encode()
    return files, f"if os.path.exists({str(flag)!r}): raise RuntimeError('CUDA out of memory')"


async def test_a_507_to_a_load_evicts_and_tries_again(host: Host) -> None:
    first, out_of_memory = takes_the_gpu(host)
    host.put("first.tar.gz", first)
    host.put("second.tar.gz", model(initialize=out_of_memory))
    await host.start()
    await host.ask("first.tar.gz")
    assert await host.ask("second.tar.gz", 7) == [7]
    assert host.loaded() == ["second.tar.gz"]
    assert "answered 507 to loading 'second.tar.gz'" in host.observer.of("model-evicted")[0]


async def test_a_507_to_an_invocation_evicts_another_model_and_tries_again(host: Host) -> None:
    first, out_of_memory = takes_the_gpu(host)
    host.put("first.tar.gz", first)
    host.put("second.tar.gz", model(execute=out_of_memory))
    await host.start()
    await host.ask("second.tar.gz")
    await host.ask("first.tar.gz")
    assert await host.ask("second.tar.gz", 7) == [7]
    assert host.loaded() == ["second.tar.gz"]


async def test_a_507_with_nothing_left_to_evict_is_the_clients_answer(host: Host) -> None:
    host.put("never.tar.gz", model(initialize="raise RuntimeError('CUDA out of memory')"))
    await host.start()
    with pytest.raises(ModelError, match="CUDA out of memory") as caught:
        await host.ask("never.tar.gz")
    assert caught.value.original_status == 507


async def test_a_full_disk_deletes_unloaded_models_first_and_then_idle_ones(host: Host) -> None:
    for name in "abc":
        host.put(f"{name}.tar.gz", model() | {"weights.bin": random.Random(name).randbytes(2 * MIB)})
    await host.start(disk_bytes=7 * MIB)  # a model and its archive take a little over 4 MiB
    await host.ask("a.tar.gz")
    await host.ask("b.tar.gz")
    assert len(host.files()) == 2
    await host.ask("c.tar.gz")
    assert host.model("a.tar.gz") is None
    assert host.loaded() == ["b.tar.gz", "c.tar.gz"]
    assert len(host.files()) == 2
    assert "a.tar.gz is deleted from the disk: 'c.tar.gz' needs the space" in host.observer.of("model-deleted")[0]
    assert await host.ask("a.tar.gz", 3) == [3]


async def test_an_archive_that_does_not_fit_on_the_disk_leaves_nothing_there(host: Host) -> None:
    host.put("big.tar.gz", model() | {"weights.bin": b"\0" * (8 * MIB)})
    await host.start(disk_bytes=2 * MIB)
    with pytest.raises(ModelError, match=r"Insufficient disk: .* of 2 MiB; raise --disk-budget") as caught:
        await host.ask("big.tar.gz")
    assert caught.value.original_status == 507
    assert host.files() == []
    assert host.variant.snapshot().instances[0].disk_bytes == 0


async def test_a_model_that_is_requested_while_it_is_unloaded_is_loaded_again(host: Host, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    slow = model(initialize=HEAVY)
    slow["identity/1/model.py"] += f"\n    def finalize(self):\n        {gate.wait}\n".encode()
    host.put("a.tar.gz", slow)
    for name in ("idle", "other"):
        host.put(f"{name}.tar.gz", model(initialize=HEAVY))
    await host.start(memory_bytes=TWO_FIT)
    await host.ask("a.tar.gz")
    await host.ask("idle.tar.gz")
    other = asyncio.create_task(host.ask("other.tar.gz", 2))
    await eventually(gate.reached)
    again = asyncio.create_task(host.ask("a.tar.gz", 1))
    await eventually(lambda: (status := host.model("a.tar.gz")) and status.misses == 2)
    gate.open()
    assert await again == [1]
    assert await other == [2]
    status = host.model("a.tar.gz")
    assert status is not None and status.loads == 2
