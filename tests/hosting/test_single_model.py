"""Single-model endpoints: one model, an ensemble by name, and the error when the container cannot start."""

from pathlib import Path
from typing import Any

import pytest

from tests.host.gateway.repository import files
from tests.hosting.archives import ensemble, model
from tests.hosting.conftest import Host
from tests.processes import eventually
from triton_ensembles.ground.processes import command_line
from triton_ensembles.hosting.errors import HostingError, ServiceUnavailable
from triton_ensembles.triton.sagemaker_variables import ADDITIONAL_ARGS

pytestmark = pytest.mark.anyio

ONE: dict[str, Any] = {"mode": "SingleModel", "url": "s3://models/model.tar.gz"}
GATEWAY = "123456789012.dkr.ecr.us-east-1.amazonaws.com/triton-ensembles-gateway:1"
DAMAGED = {**files(), "models.toml": b"[[models]]"}
FOR_A_GPU = {name: text.replace(b"KIND_CPU", b"KIND_GPU") for name, text in model().items()}
PIPE = ensemble("pipe", "b", "a") | model("a", execute="x = x + 1") | model("b", execute="x = x * 2")


async def test_an_ensemble_is_served_by_its_name_and_comes_back_after_a_crash(host: Host) -> None:
    host.put("model.tar.gz", PIPE)
    await host.start(**ONE, environment={"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "pipe"})
    assert await host.ask(None, 1, 2) == [3, 5]
    status = host.status("model.tar.gz")
    assert status.hits == 1
    host.kill()
    await eventually(lambda: host.told("instance-died"))
    assert await host.ask(None, 3) == [7]


async def test_a_server_that_aborts_while_it_starts_on_a_busy_machine_is_started_once_more(
    host: Host, tmp_path: Path
) -> None:
    """Otherwise such an endpoint is Failed, and the same call succeeds a minute later (server#8882)."""
    flag = tmp_path / "aborted"
    abort = (
        f"not os.path.exists({str(flag)!r}) and (open({str(flag)!r}, 'w'), "
        "print('boost::interprocess::lock_exception', flush=True), os.kill(os.getppid(), 6))"
    )
    host.put("model.tar.gz", model(initialize=abort))
    await host.start(**ONE)
    assert await host.ask(None, 3) == [3]
    assert flag.exists()
    assert "WARNING: No SAGEMAKER_TRITON_DEFAULT_MODEL_NAME provided. Starting with" in host.log.read_text()


@pytest.mark.parametrize(
    ("archive", "options", "words"),
    [
        (None, {}, "Failed to download model data"),
        (b"not gzip", {}, "Failed to extract model data archive"),
        (DAMAGED, {"image": GATEWAY}, r"models\.toml:.*line 1: models.name: Field required"),
        (PIPE, {}, "More than 1 model directory found in model repository: a b pipe; .*DEFAULT_MODEL_NAME"),
        ({"config.pbtxt": b""}, {}, "Incorrect directory structure"),
        ({"README": b""}, {}, "No model found"),
        (FOR_A_GPU, {}, "KIND_GPU but no GPUs are available.*; pack a model and config for the CPU"),
        (model(initialize="raise ValueError('no such vocabulary')"), {}, "identity: Internal: ValueError: no such voc"),
        (model(), {"environment": {ADDITIONAL_ARGS: "--no-such-flag"}}, "unrecognized option '--no-such-flag'"),
    ],
)
async def test_a_container_that_cannot_start_says_why_and_leaves_nothing(
    host: Host, archive: dict[str, bytes] | bytes | None, options: dict[str, Any], words: str
) -> None:
    if archive is not None:
        host.put("model.tar.gz", archive)
    with pytest.raises(HostingError, match=words):
        await host.start(**ONE, **options)
    assert not host.root.exists()
    with pytest.raises(ServiceUnavailable):
        await host.ask(None)


async def test_a_container_that_is_not_ready_in_time_has_failed(host: Host) -> None:
    host.put("model.tar.gz", model(initialize="time.sleep(60)"))
    with pytest.raises(HostingError, match="did not pass the ping health check: tritonserver was not ready after 3 s"):
        await host.start(**ONE, startup_seconds=3)
    pids = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]
    assert not [pid for pid in pids if str(host.root) in command_line(pid)]
