"""The processes of models: one that has ended is reported, and none outlives its model or its server."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosting.archives import ensemble, model
from tests.hosting.conftest import Host
from tests.processes import alive, eventually, started_by, wait_for_end
from triton_ensembles.ground.processes import descendants
from triton_ensembles.hosting.model_processes import ModelProcesses, is_stub

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


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
        message = r"not healthy.*; see the endpoint's log.*load the model again"
        await host.model_error("pipe.tar.gz", message, 400, value)
    assert "every request to it fails" in host.status("pipe.tar.gz").broken
    (warning,) = [each for each in host.variant.snapshot().errors if "is broken" in each.text]
    assert warning.target_model == "pipe.tar.gz" and "another name" in warning.cure
    # Nobody has to ask: it is noticed when the memory is measured.
    one = host.status("one.tar.gz")
    assert not one.broken
    (stub,) = started_by(host.pid(), one.hash)
    os.kill(stub, signal.SIGKILL)
    await eventually(lambda: (status := host.model("one.tar.gz")) and status.broken)
    # Another load cures it.
    await host.die()
    assert await host.ask("one.tar.gz", 1) == [1]
    assert not host.status("one.tar.gz").broken


async def test_a_single_model_whose_stub_has_ended_says_so(host: Host) -> None:
    host.put("one.tar.gz", model("one"))
    await host.start(url="s3://models/one.tar.gz", mode="SingleModel")
    (status,) = host.variant.snapshot().instances[0].models
    await eventually(lambda: host.variant.snapshot().instances[0].models[0].stubs == 1)
    assert not status.broken
    os.kill(stubs(host)[0], signal.SIGKILL)
    await eventually(lambda: host.variant.snapshot().instances[0].models[0].broken)
    assert "is broken" in host.variant.snapshot().errors[0].text


@pytest.mark.parametrize("end", ["of the model", "of the server", "of the endpoint"])
async def test_what_a_model_has_started_ends_with_it(host: Host, tmp_path: Path, end: str) -> None:
    """A process in a session of its own, with an environment of its own."""
    file = tmp_path / "pid"
    start = "import subprocess; p = subprocess.Popen(['sleep', '1000'], start_new_session=True, env={}); "
    host.put("one.tar.gz", model(initialize=f"{start}open({str(file)!r}, 'w').write(str(p.pid))"))
    await host.start(cache="Disabled" if end == "of the model" else "Enabled")
    await host.ask("one.tar.gz")
    pid = int(file.read_text())
    if end == "of the model":
        await eventually(lambda: host.told("model-unloaded"))
        assert "'one.tar.gz' had started 1 processes that outlived it" in host.told("warning")[0]
    elif end == "of the server":
        await host.die()
    else:
        await host.close()
    await eventually(lambda: not alive(pid))


def test_a_look_after_the_end_of_the_server_does_not_forget_what_its_models_have_started(tmp_path: Path) -> None:
    """Else a process that has left the session and the environment of its stub would outlive the server."""
    step = tmp_path / f"models/{'0' * 32}/model/step/1/model.py"
    step.parent.mkdir(parents=True)
    child = "p = subprocess.Popen(['sleep', '1000'], start_new_session=True, env={}); print(p.pid, flush=True)"
    step.write_text(f"import subprocess; {child}; p.wait()")
    start = f"import subprocess, sys; subprocess.Popen([sys.executable, {str(step)!r}]).wait()"
    with subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        pid = int(server.stdout.readline())
        models = ModelProcesses()
        assert pid in models.find(server.pid)["0" * 32]
        server.kill()
        assert wait_for_end([server.pid]) == []  # and it is not reaped yet
        assert models.find(server.pid) == {}
        models.end_orphans()
        assert wait_for_end([pid]) == []
