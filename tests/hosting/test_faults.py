"""The errors that clients get, with the reason and the fix; and that the endpoint serves on afterwards."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.hosting.archives import Gate, body, ensemble, model, packed
from tests.hosting.conftest import Host
from tests.processes import eventually, wait_for_end
from triton_ensembles.hosting.errors import (
    InternalFailure,
    ModelError,
    ModelNotReadyException,
    ServiceUnavailable,
    ValidationError,
)
from triton_ensembles.hosting.request import Invocation, Pieces
from triton_ensembles.sagemaker.model_state import ModelState

pytestmark = pytest.mark.anyio
GOOD = "good.tar.gz"


@pytest.fixture(autouse=True)
async def unharmed(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """After each fault the shared variant serves on, by the same server, with nothing left of the archive."""
    if "shared" not in request.fixturenames:
        yield
        return
    host: Host = request.getfixturevalue("shared")
    before = host.pid()
    host.put(GOOD, model())
    yield
    assert await host.ask(GOOD, 4) == [4]
    assert host.pid() == before
    kept = {each.hash for each in host.variant.snapshot().instances[0].models}
    assert set(host.files()) == kept
    assert host.variant.snapshot().instances[0].in_flight == 0


@pytest.mark.parametrize("name", ["", " a.tar.gz", "$(touch x).tar.gz", "a;b", "a\nb", "x" * 1025, "é.tar.gz"])
async def test_a_name_that_could_hurt_the_container_is_refused(shared: Host, name: str) -> None:
    with pytest.raises(ValidationError, match=r"TargetModel .* is not valid.*; rename the object"):
        await shared.ask(name)


async def test_a_bad_archive_is_refused_with_its_fault(shared: Host) -> None:
    """tests/sagemaker/test_extraction.py has all faults. What was written before this one is removed."""
    shared.put("bad.tar.gz", packed(model() | {"../../evil": b"x"}))
    fault = r"bad\.tar\.gz.*'../../evil' leads out of the model's folder \(sagemaker-unsafe-member\); "
    with pytest.raises(ValidationError, match=f"Failed to extract model data archive from URL.*{fault}"):
        await shared.ask("bad.tar.gz")
    assert shared.variant.snapshot().errors[0].target_model == "bad.tar.gz"


async def test_an_archive_without_a_model_says_so(shared: Host) -> None:
    shared.put("empty.tar.gz", {"README.md": b"nothing here"})
    message = r"Failed to load model 'empty.tar.gz': the archive does not have a model in it"
    error = await shared.model_error("empty.tar.gz", message, 400)
    assert "failed to poll from model repository" in error.original_message


async def test_a_step_for_a_backend_that_only_the_image_has_says_what_to_do(shared: Host) -> None:
    """AWS's notebooks pack TensorRT plans."""
    plan = {name: text.replace(b'"python"', b'"tensorrt"') for name, text in model().items()}
    shared.put("plan.tar.gz", plan | {"identity/1/model.plan": b""})
    error = await shared.model_error("plan.tar.gz", "unable to find backend library for backend 'tensorrt'", 400)
    assert "pack a model and config for the CPU" in error.cure


async def test_of_two_ensembles_one_answers_and_a_warning_says_so(shared: Host) -> None:
    steps = model("two.step", execute="x = x + 1")
    shared.put("two.tar.gz", ensemble("left", "two.step") | ensemble("right", "two.step") | steps)
    assert await shared.ask("two.tar.gz", 1) == [2]
    warning = "has 2 ensembles (left, right): Triton serves whichever the folder lists last"
    assert warning in str(shared.told("warning"))


async def test_a_step_that_raises_is_named_with_its_message_and_a_fixed_upload_works(shared: Host) -> None:
    pair = ensemble("pair", "pair.a", "pair.b") | model("pair.a")
    shared.put("pair.tar.gz", pair | model("pair.b", initialize="raise ValueError('the vocabulary is missing')"))
    await shared.model_error("pair.tar.gz", r"pair\.b: Internal: ValueError: the vocabulary is missing", 400)
    assert "steps of 'pair.tar.gz' that did load keep their memory" in shared.told("warning")[-1]
    shared.put("pair.tar.gz", pair | model("pair.b"))
    assert await shared.ask("pair.tar.gz", 2) == [2]


BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
BAD_TEXTS = [(content, "application/json") for content in (b"{", b"[1, 2]", b'{"inputs": 5}', b"\xff\xfe\x00")]
BAD_TYPES = [(body(1), kind) for kind in (f"{BINARY}99999", f"{BINARY}-1", f"{BINARY}abc", f"text/html; {BINARY}1")]


@pytest.mark.parametrize(("content", "content_type"), [*BAD_TEXTS, *BAD_TYPES])
async def test_a_malformed_body_is_the_models_error(shared: Host, content: bytes, content_type: str) -> None:
    with pytest.raises(ModelError) as caught:
        await shared.send(GOOD, content, content_type)
    assert caught.value.original_status == 400
    assert caught.value.original_message


async def test_a_client_that_hangs_up_harms_nobody(shared: Host, tmp_path: Path) -> None:
    """While the model loads, while it works, and in the middle of the answer."""
    gate = Gate(tmp_path)
    shared.put("slow.tar.gz", model(initialize=gate.wait, execute="time.sleep(0.05)"))
    waiting = asyncio.create_task(shared.ask("slow.tar.gz"))
    await eventually(gate.reached)
    waiting.cancel()
    gate.open()
    await eventually(lambda: "slow.tar.gz" in shared.loaded())  # the load went on
    for _ in range(10):
        working = [asyncio.create_task(shared.ask("slow.tar.gz")) for _ in range(10)]
        await asyncio.sleep(0.02)
        for task in working:
            task.cancel()
    assert await shared.ask("slow.tar.gz", 8) == [8]
    reply = await shared.variant.invoke(Invocation(body(*range(300_000)), GOOD, {"Content-Type": "application/json"}))
    assert isinstance(reply.body, Pieces)
    await reply.body.aclose()


async def test_a_model_that_does_not_answer_in_time_is_its_own_error(host: Host, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    host.put("slow.tar.gz", model(execute=gate.wait))
    await host.start(invoke_seconds=3)
    with contextlib.suppress(ModelNotReadyException, ModelError):  # the load itself may take longer
        await host.ask("slow.tar.gz")
    await eventually(host.loaded)
    await host.model_error("slow.tar.gz", "Your invocation timed out", 0)
    gate.open()


async def test_a_killed_server_is_restarted_and_nothing_hangs(host: Host, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    host.put("a.tar.gz", model(execute="time.sleep(0.05)"))
    host.put("b.tar.gz", model(initialize=gate.wait))
    await host.start()
    await host.ask("a.tar.gz")
    before = host.processes()

    async def client(number: int) -> list[float] | str:
        try:
            return await host.ask("a.tar.gz", number)
        except InternalFailure as error:
            return str(error)

    running = [asyncio.create_task(client(number)) for number in range(20)]
    loading = asyncio.create_task(host.ask("b.tar.gz", 2))
    await eventually(gate.reached)
    host.kill()
    gate.open()
    with pytest.raises(InternalFailure, match=r"died while it loaded 'b\.tar\.gz'"):
        await loading
    answers = await asyncio.gather(*running)
    assert all(answer == [number] or "being restarted" in answer for number, answer in enumerate(answers))
    assert await host.ask("a.tar.gz", 1) == [1]
    assert await host.ask("b.tar.gz", 2) == [2]
    status = host.variant.snapshot().instances[0]
    assert status.restarts == 1
    assert "signal 9" in host.told("instance-died")[0]
    assert not wait_for_end(before)


async def test_an_endpoint_stopped_in_the_middle_of_a_load_leaves_nothing(host: Host) -> None:
    host.put("slow.tar.gz", model(initialize="time.sleep(600)"))
    await host.start(drain_seconds=0.2)
    asking = asyncio.create_task(host.ask("slow.tar.gz"))
    await eventually(lambda: (status := host.model("slow.tar.gz")) and status.state is ModelState.LOADING)
    processes = host.processes()
    async with asyncio.timeout(60):  # it does not wait for the load
        await host.variant.stop()
    with pytest.raises(ServiceUnavailable):
        await asking
    assert not wait_for_end(processes)
    assert not host.root.exists()
