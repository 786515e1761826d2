"""What Triton unpacks into /tmp and keeps there fills the instance's disk, as it does on AWS."""

import pytest

from tests.hosting import archives
from tests.hosting.conftest import Host
from tests.processes import environments_of, eventually
from triton_ensembles.hosting.errors import ModelError
from triton_ensembles.sagemaker.model_state import ModelState

pytestmark = [pytest.mark.slow, pytest.mark.anyio]
MIB = 1 << 20


def on_disk(host: Host) -> tuple[int, int]:
    """MiB of the disk that are in use, and those of them in /tmp."""
    (instance,) = host.variant.snapshot().instances
    return instance.disk_bytes // MIB, instance.environment_bytes // MIB


async def test_environments_stay_on_the_disk_after_their_models_are_gone(host: Host) -> None:
    """The leak: each distinct archive leaves its own copy until the server ends."""
    await host.start(cache="Disabled")
    for number in (1, 2):
        host.put(f"{number}.tar.gz", archives.with_environment(archives.model(), megabytes=8))
        assert await host.ask(f"{number}.tar.gz", 5.0) == [5.0]
        await eventually(lambda: not host.files())
        await eventually(lambda: on_disk(host) == (8 * number, 8 * number))  # noqa: B023
    await eventually(lambda: host.metric("UnpackedEnvironments")["0"] >= 16 * MIB)
    only_environments = pytest.approx(100 * 16 / 4096, rel=0.05)  # a measurement before counts the model's files, too
    await eventually(lambda: host.metric("DiskUtilization")["0"] == only_environments)
    await host.die()
    assert on_disk(host) == (0, 0)


async def test_an_archive_that_stays_on_the_disk_is_unpacked_once(host: Host) -> None:
    await host.start(memory_bytes=1)
    host.put("a.tar.gz", archives.with_environment(archives.model(), megabytes=8))
    for _ in range(2):
        with pytest.raises(ModelError, match="Insufficient memory"):
            await host.ask("a.tar.gz")
        assert host.status("a.tar.gz").state is ModelState.ON_DISK
        assert on_disk(host) == (16, 8)


async def test_a_damaged_environment_makes_later_ones_fail_until_the_server_restarts(host: Host) -> None:
    """The poison: Triton numbers the folders by the environments that it has unpacked without an error."""
    await host.start()
    files = archives.with_environment(archives.model(), megabytes=2)
    whole = files["identity/env.tar.gz"]
    host.put("bad.tar.gz", files | {"identity/env.tar.gz": whole[: len(whole) // 2]})
    host.put("good.tar.gz", files)
    host.put("plain.tar.gz", archives.model())
    with pytest.raises(ModelError, match="archive_read_data_block"):
        await host.ask("bad.tar.gz")
    for _ in range(2):
        await host.model_error("good.tar.gz", "Failed to create environment directory", 400)
    assert await host.ask("plain.tar.gz", 2.0) == [2.0]
    await host.die()
    assert await host.ask("good.tar.gz", 3.0) == [3.0]


async def test_a_disk_full_of_environments_takes_no_further_model(host: Host) -> None:
    """Deleting idle models helps only as long as what is in /tmp leaves room."""
    await host.start(disk_bytes=70 * MIB)
    for name in ("a", "b", "c"):
        host.put(f"{name}.tar.gz", archives.with_environment(archives.model(), megabytes=20))
    await host.ask("a.tar.gz")
    assert on_disk(host) == (40, 20)
    await host.ask("b.tar.gz")
    assert on_disk(host) == (60, 40)
    assert host.loaded() == ["b.tar.gz"]
    message = r"Insufficient disk: .* of 70 MiB; environments .* take 40 MiB"
    assert "as folders, not as tars" in (await host.model_error("c.tar.gz", message, 507)).cure


async def test_an_environment_that_overfills_the_disk_fails_the_load(host: Host) -> None:
    await host.start(disk_bytes=80 * MIB)
    host.put("idle.tar.gz", archives.model())
    host.put("a.tar.gz", archives.with_environment(archives.model(), megabytes=35))
    host.put("b.tar.gz", archives.with_environment(archives.model(), megabytes=5))
    await host.ask("idle.tar.gz")
    await host.ask("a.tar.gz")
    assert host.loaded() == ["a.tar.gz", "idle.tar.gz"]
    await host.ask("b.tar.gz")
    assert host.loaded() == ["b.tar.gz"], "the others are deleted to make room"
    host.put("c.tar.gz", archives.with_environment(archives.model(), megabytes=32))
    await host.model_error("c.tar.gz", r"Insufficient disk: .* of 80 MiB; environments", 507)
    assert not host.loaded()


async def test_the_environment_of_a_single_model_counts_and_ends_with_its_server(host: Host) -> None:
    host.put("only.tar.gz", archives.with_environment(archives.model(), megabytes=8))
    await host.start(mode="SingleModel", url="s3://models/only.tar.gz")
    assert await host.ask(None, 4.0) == [4.0]
    assert on_disk(host) == (16, 8)
    (environment,) = environments_of(host.processes())
    await host.die()
    assert not environment.exists()
