"""The processes of models: one that has ended is reported, and none outlives its model or its server."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.endpoint.hosting.archives import ensemble, model
from tests.endpoint.hosting.conftest import Host, eventually
from tests.triton.test_server import alive
from triton_ensembles.endpoint.hosting.model_processes import is_stub
from triton_ensembles.ground.processes import command_line, descendants

pytestmark = pytest.mark.anyio


def stubs(host: Host) -> list[int]:
    return [pid for pid in descendants(host.pid()) if is_stub(pid)]


async def test_a_model_whose_stub_has_ended_says_so_with_the_cure(host: Host) -> None:
    steps = model("a.step") | model("b.step", execute="if x[0] > 5: os._exit(1)")
    host.put("pipe.tar.gz", ensemble("pipe", "a.step", "b.step") | steps)
    host.put("one.tar.gz", model())
    await host.start()
    await host.ask("one.tar.gz")
    await host.ask("pipe.tar.gz")
    for value in (9, 1):  # Triton does not start another stub
        await host.model_error(
            "pipe.tar.gz", r"not healthy.*; see the endpoint's log.*load the model again", 400, value
        )
    pipe = host.status("pipe.tar.gz")
    assert "every request to it fails" in pipe.broken
    (warning,) = [each for each in host.variant.snapshot().errors if "is broken" in each.text]
    assert warning.target_model == "pipe.tar.gz" and "another name" in warning.cure
    # Nobody has to ask: it is noticed when the memory is measured.
    one = host.status("one.tar.gz")
    assert not one.broken
    (stub,) = [pid for pid in stubs(host) if one.hash in command_line(pid)]
    os.kill(stub, signal.SIGKILL)
    await eventually(lambda: (status := host.model("one.tar.gz")) and status.broken)
    # Another load cures it.
    host.kill()
    await eventually(lambda: host.observer.of("instance-started")[1:])
    assert await host.ask("one.tar.gz", 1) == [1]
    one = host.status("one.tar.gz")
    assert not one.broken


async def test_a_single_model_whose_stub_has_ended_says_so(host: Host) -> None:
    host.put("one.tar.gz", model("one"))
    await host.start(url="s3://models/one.tar.gz", mode="SingleModel")
    (status,) = host.variant.snapshot().instances[0].models
    await eventually(lambda: host.variant.snapshot().instances[0].models[0].stubs == 1)
    assert not status.broken
    os.kill(stubs(host)[0], signal.SIGKILL)
    await eventually(lambda: host.variant.snapshot().instances[0].models[0].broken)
    assert "is broken" in host.variant.snapshot().errors[0].text


def starting(file: Path) -> dict[str, bytes]:
    """A model that starts a process in a session of its own, with an environment of its own."""
    start = "import subprocess; p = subprocess.Popen(['sleep', '1000'], start_new_session=True, env={}); "
    return model(initialize=f"{start}open({str(file)!r}, 'w').write(str(p.pid))")


async def test_what_a_model_has_started_ends_with_it(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    host.put("one.tar.gz", starting(file))
    await host.start(cache="Disabled")
    await host.ask("one.tar.gz")
    pid = int(file.read_text())
    await eventually(lambda: host.observer.of("model-unloaded"))
    assert not alive(pid)
    assert any("'one.tar.gz' had started 1 processes that outlived it" in each for each in host.observer.of("warning"))


@pytest.mark.parametrize("killed", [False, True])
async def test_what_a_model_has_started_ends_with_its_server(host: Host, tmp_path: Path, killed: bool) -> None:
    file = tmp_path / "pid"
    host.put("one.tar.gz", starting(file))
    await host.start()
    await host.ask("one.tar.gz")
    pid = int(file.read_text())
    assert alive(pid)
    if killed:
        host.kill()
        await eventually(lambda: host.observer.of("instance-started")[1:])
    else:
        await host.close()
    await eventually(lambda: not alive(pid), 5)
