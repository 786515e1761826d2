"""Workers of a multi-model endpoint that are forked from one process, on the real server with SageMaker's routes."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import PIL
import pytest

from tests.processes import wait_for_end, wait_until
from tests.runtime.fused.endpoint import Endpoint, RefusedError, multi_model_endpoint
from tests.runtime.fused.test_faults import STEP
from tests.runtime.fused.test_idle_memory import build_wide
from triton_ensembles.building.places import Places
from triton_ensembles.ground.processes import command_line, descendants
from triton_ensembles.runtime.fused.process_ends import children_of

# The second part of Pillow is imported when an image is opened; the answer is whether it is whole, and what was read.
PICTURE = """import io

import numpy as np
import triton_python_backend_utils as pb_utils
from PIL import Image, _version


class TritonPythonModel:
    def execute(self, requests):
        content = io.BytesIO()
        Image.new("L", (3, 5)).save(content, "PNG")
        size = Image.open(content).size
        values = [_version.__doc__ != "damaged", *size, np.random.random()]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(values, np.float32))]) for _ in requests]
"""


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    packages = tmp_path / "written" / ".packages"
    for name in ("PIL", "pillow.libs"):
        source = Path(PIL.__file__).parent.with_name(name)
        shutil.copytree(source, packages / name, ignore=shutil.ignore_patterns("*.pyc"))
    with multi_model_endpoint(tmp_path) as endpoint:
        endpoint.add(STEP, "first")
        assert not fork_servers(endpoint)  # of one ensemble it would have nothing to share
        yield endpoint


def fork_servers(endpoint: Endpoint) -> list[int]:
    return [pid for pid in descendants(endpoint.server.pid) if command_line(pid).startswith("fork server of")]


def worker_of(endpoint: Endpoint, name: str) -> int:
    title = f"steps of {endpoint.folder / name}/"
    (worker,) = [pid for pid in descendants(endpoint.server.pid) if command_line(pid).startswith(title)]
    return worker


@pytest.mark.slow
def test_a_fork_server_outlives_the_files_of_the_first_ensemble(endpoint: Endpoint) -> None:
    """Others have its modules, and find the rest of them in their own folders; random numbers are their own, too."""
    endpoint.add(PICTURE, "a", "b")
    (shared,) = fork_servers(endpoint)
    answers = [endpoint.answer(name) for name in ("a", "b")]
    assert [answer[:3] for answer in answers] == [[1, 3, 5]] * 2
    assert answers[0][3] != answers[1][3]
    endpoint.unload("a")
    shutil.rmtree(endpoint.folder / "a")
    endpoint.add(PICTURE, "c")
    assert [endpoint.answer(name)[:3] for name in ("b", "c")] == [[1, 3, 5]] * 2
    assert fork_servers(endpoint) == [shared]
    for name in ("b", "c"):
        endpoint.unload(name)
    assert wait_for_end([shared]) == []
    assert endpoint.answer("first") == [2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
def test_engines_are_shared_too(backend: str, endpoint: Endpoint, places: Places, tmp_path: Path) -> None:
    built = build_wide(backend, places, tmp_path)
    for name in ("a", "b", "c"):
        shutil.copytree(built.repository, endpoint.folder / name)
    endpoint.load("a")
    endpoint.load("b")
    assert len(fork_servers(endpoint)) == 1
    endpoint.unload("a")
    shutil.rmtree(endpoint.folder / "a")
    endpoint.load("c")
    assert len(fork_servers(endpoint)) == 1
    expected = pytest.approx(np.tanh([1, 2]).tolist(), rel=1e-3)
    assert [endpoint.answer(name, shape=(2, 1)) for name in ("b", "c")] == [expected] * 2


def test_loaded_ensembles_go_on_when_the_fork_server_is_killed(endpoint: Endpoint) -> None:
    endpoint.add(STEP, "a", "b")
    (killed,) = fork_servers(endpoint)
    os.kill(killed, signal.SIGKILL)
    assert wait_for_end([killed]) == []
    assert [endpoint.answer(name) for name in ("a", "b")] == [[2, 3]] * 2
    worker = worker_of(endpoint, "a")
    os.kill(worker, signal.SIGKILL)
    assert wait_for_end([worker]) == []
    assert [endpoint.answer(name) for name in ("a", "b")] == [[2, 3]] * 2
    endpoint.add(STEP, "c")
    assert len(fork_servers(endpoint)) == 1
    assert endpoint.answer("c") == [2, 3]
    worker = worker_of(endpoint, "c")
    (stub,) = [pid for pid in descendants(endpoint.server.pid) if worker in descendants(pid)]
    os.kill(stub, signal.SIGKILL)
    assert wait_for_end([worker]) == []  # it does not outlive its stub
    for name in ("a", "b"):
        assert endpoint.answer(name) == [2, 3]
        endpoint.unload(name)
    wait_until(lambda: not fork_servers(endpoint))


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("child", "the step first ended the process with exit code 6"),
        ("SIGSEGV", "the step first was killed by SIGSEGV"),
    ],
)
def test_how_a_forked_worker_ended_is_told(endpoint: Endpoint, word: str, reason: str) -> None:
    """And what it had started ends with it, but no other ensemble's."""
    endpoint.add(STEP, "a", "b")
    others = worker_of(endpoint, "b")
    with pytest.raises(RefusedError) as caught:
        endpoint.answer("a", word)
    assert reason in str(caught.value)
    (shared,) = fork_servers(endpoint)
    assert [endpoint.answer(name) for name in ("a", "b")] == [[2, 3]] * 2
    assert worker_of(endpoint, "b") == others
    assert sorted(children_of(shared)) == sorted([others, worker_of(endpoint, "a")])


@pytest.mark.slow
def test_what_is_not_proven_is_not_shared(endpoint: Endpoint) -> None:
    """Otherwise one damaged archive would hurt the answers of others."""
    damaged = endpoint.stage("damaged", first=PICTURE)
    (damaged / "PIL" / "_version.py").unlink()  # a link to the file of all
    (damaged / "PIL" / "_version.py").write_text(f'__version__ = "{PIL.__version__}"\n__doc__ = "damaged"\n')
    with pytest.raises(RefusedError) as caught:
        endpoint.load("damaged")
    assert "PIL/_version.py is damaged" in str(caught.value)
    endpoint.add(PICTURE, "whole")
    assert endpoint.answer("whole")[:3] == [1, 3, 5]


@pytest.mark.slow
def test_nothing_outlives_a_killed_server(endpoint: Endpoint) -> None:
    endpoint.add(STEP, "a")
    processes = descendants(endpoint.server.pid)
    assert {*fork_servers(endpoint), worker_of(endpoint, "a")} < {*processes}
    os.kill(endpoint.server.pid, signal.SIGKILL)
    os.waitpid(endpoint.server.pid, 0)  # until then its processes see a parent
    assert wait_for_end(processes) == []
