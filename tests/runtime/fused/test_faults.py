"""What becomes of a fused ensemble, on the real server, when its steps, processes or files are damaged."""

import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as grpc

from tests.ensembles.clients import infer
from tests.hosting.archives import model_py
from tests.processes import wait_for_end, wait_until
from tests.running import grpc_client, serving
from tests.runtime.fused.forms import stage_chain
from triton_ensembles.ground.processes import command_line, descendants
from triton_ensembles.runtime.fused.plan import PLAN
from triton_ensembles.server.triton_server import TritonServer

STEP = Path(__file__).with_name("hurt_step.py").read_text()
ECHO = STEP.replace("word = request.request_id()", 'word = ""')
INITIALIZE = "class TritonPythonModel:\n    def initialize(self, args):\n        "
CALLING = model_py(
    execute="""import threading
            word = request.request_id()
            if word == "say":
                self.thread.join()
                raise ValueError(self.said)

            def call(x):
                while word == "late" and "CALLED" not in os.environ:
                    time.sleep(0.01)
                try:
                    inputs = [pb_utils.Tensor("X", x)]
                    call = pb_utils.InferenceRequest(model_name="second", requested_output_names=["Y"], inputs=inputs)
                    self.said = str(pb_utils.get_output_tensor_by_name(call.exec(), "Y").as_numpy().tolist())
                except Exception as error:
                    self.said = f"{type(error).__name__}: {error}"

            if word:
                os.environ.pop("CALLED", None)
                self.thread = threading.Thread(target=call, args=(x,))
                self.thread.start()
                while word == "begun" and "CALLED" not in os.environ:
                    time.sleep(0.01)"""
)
CALLED = model_py(
    initialize="self.running = False",
    execute="""assert not self.running, "two at a time"
            self.running = True
            os.environ["CALLED"] = "now"  # for the other step, which is in the same process
            time.sleep(0.5)
            self.running = False
            x = x * 2""",
)
COUNTING = model_py(
    initialize="""import threading
        self.family = pb_utils.MetricFamily("counting", "", pb_utils.MetricFamily.COUNTER)
        self.metric = self.family.Metric(labels={})

        def count():
            while True:
                self.metric.increment(1)

        threading.Thread(target=count, daemon=True).start()"""
)


class Hurt:
    """A server whose models are loaded one by one."""

    def __init__(self, server: TritonServer, repository: Path, folder: Path) -> None:
        self.server, self.repository, self._folder = server, repository, folder
        self.client = grpc_client(server)

    def add(self, name: str, instances: int = 1, weights: bytes = b"", **steps: str) -> Path:
        """Stage a fused ensemble; return its version folder."""
        steps = steps or {"first": STEP, "second": ECHO}
        return stage_chain(self._folder / name, self.repository, instances, weights, **steps)

    def load(self, name: str, instances: int = 1, **steps: str) -> None:
        self.add(name, instances, b"", **steps)
        self.client.load_model(name)

    def stub(self, name: str) -> int:
        """The process of the ensemble's stub, whose command line names its folder."""
        parents = [pid for pid in descendants(self.server.pid) if descendants(pid)]
        (stub,) = (pid for pid in parents if f"{self.repository / name}/" in command_line(pid))
        return stub

    def refusal(self, name: str) -> str:
        """Why the model does not load."""
        with pytest.raises(grpc.InferenceServerException) as caught:
            self.client.load_model(name)
        return str(caught.value.message())

    def ask(self, name: str, word: str = "", array: np.ndarray | None = None) -> np.ndarray | str:
        array = np.zeros(3, np.float32) if array is None else array
        try:
            return infer(self.client, name, {"X": array}, request_id=word, client_timeout=300)["Y"]
        except grpc.InferenceServerException as error:
            return str(error.message())

    def answers(self, name: str) -> bool:
        return np.array_equal(self.ask(name), np.full(3, 2, np.float32))


@pytest.fixture(scope="module")
def hurt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hurt]:
    folder = tmp_path_factory.mktemp("hurt")
    repository = folder / "models"
    repository.mkdir()
    with serving(TritonServer([repository], log=folder / "log", arguments=["--model-control-mode=explicit"])) as server:
        yield Hurt(server, repository, folder / "written")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("raise", "ValueError: a bad row"),
        ("sys.exit", "SystemExit: 4"),
        ("os._exit", "the step first ended the process with exit code 5"),
        ("child", "the step first ended the process with exit code 6"),
        ("SIGKILL", "the step first was killed by SIGKILL"),
        ("SIGSEGV", "the step first was killed by SIGSEGV"),
    ],
)
@pytest.mark.parametrize("instances", [1, 2])
def test_a_step_that_dies_fails_its_request_and_no_other(hurt: Hurt, word: str, reason: str, instances: int) -> None:
    name = f"dying_{instances}"
    if not hurt.client.is_model_ready(name):
        hurt.load(name, instances)
    for _ in range(instances):
        found = hurt.ask(name, word)
        assert isinstance(found, str) and f"in ensemble '{name}'" in found and "first" in found and reason in found
        assert hurt.answers(name)
    if word == "SIGSEGV":  # the log has the place
        log = hurt.server.log.read_text()
        assert re.search(rf"Fatal Python error: Segmentation fault(.*\n)+?.*/{name}/1/steps/first/1/model.py", log)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("begun", "[0.0, 0.0, 0.0]"),
        ("late", "calls 'second' only while its execute runs: wait there for the thread that does it"),
    ],
)
def test_a_thread_that_outlives_execute_calls_no_model_beside_others(hurt: Hurt, word: str, said: str) -> None:
    """A call that has begun ends before the next step runs; a later one is refused, and nobody's answer is hurt."""
    if not hurt.client.is_model_ready("calling"):
        hurt.load("calling", first=CALLING, second=CALLED)
    assert np.array_equal(hurt.ask("calling", word), np.zeros(3))
    found = hurt.ask("calling", "say")
    assert isinstance(found, str) and said in found
    assert np.array_equal(hurt.ask("calling"), np.zeros(3))


def test_the_death_of_an_idle_worker_costs_no_request(hurt: Hurt) -> None:
    hurt.load("idle")
    (worker,) = descendants(hurt.stub("idle"))
    os.kill(worker, signal.SIGKILL)
    assert wait_for_end([worker]) == []
    assert hurt.answers("idle")


def test_a_worker_that_was_started_again_has_the_modules_of_the_first(hurt: Hurt) -> None:
    """The stub, from which it is forked, has in place of asyncio only what Triton asks of it."""
    step = STEP.replace("import os\n", "import asyncio\nimport os\n").replace(
        "    def execute(self, requests):\n", "    async def execute(self, requests):\n        await asyncio.sleep(0)\n"
    )
    assert step.count("asyncio") == 2
    hurt.load("awaiting", first=step, second=ECHO)
    assert hurt.answers("awaiting")
    assert "exit code 5" in str(hurt.ask("awaiting", "os._exit"))
    assert hurt.answers("awaiting")


def test_restarts_leave_nothing_open(hurt: Hurt) -> None:
    """Otherwise a step that often dies ends in "too many open files" of the stub, or in processes that it started."""
    hurt.load("often")
    stub = hurt.stub("often")

    def count() -> tuple[int, ...]:
        assert hurt.answers("often")
        assert len(descendants(stub)) == 1
        return tuple(len(list(Path(f"/proc/{stub}/{kind}").iterdir())) for kind in ("fd", "task"))

    hurt.ask("often", "child")  # which sleeps
    assert descendants(stub) == []
    before = count()
    for _ in range(10):
        hurt.ask("often", "SIGKILL")
    wait_until(lambda: count() <= before)  # what answered the last worker's calls may be about to end


def test_nothing_is_left_of_an_unloaded_ensemble(hurt: Hurt) -> None:
    files, before = _files_of_triton(), set(descendants(hurt.server.pid))
    hurt.load("gone")
    assert hurt.answers("gone")
    mine = set(descendants(hurt.server.pid)) - before
    assert len(mine) == 2
    hurt.client.unload_model("gone")
    assert wait_for_end(list(mine)) == []
    # Triton removes them when the processes have ended.
    wait_until(lambda: not [path for path in _files_of_triton() - files if str(hurt.server.ports.metrics) in path.name])


def _files_of_triton() -> set[Path]:
    return {path for folder in ("/tmp", "/dev/shm") for path in Path(folder).iterdir() if "triton" in path.name}


def test_a_killed_stub_takes_its_worker_with_it(hurt: Hurt) -> None:
    hurt.load("orphan")
    stub = hurt.stub("orphan")
    (worker,) = descendants(stub)
    os.kill(stub, signal.SIGKILL)
    assert wait_for_end([worker]) == []
    hurt.client.unload_model("orphan")


def test_nothing_outlives_a_killed_server(tmp_path: Path) -> None:
    """Triton's stub hangs when the server ends while it waits for the answer to a metric's increment."""
    stage_chain(tmp_path / "counting", tmp_path / "models", first=COUNTING)
    with serving(TritonServer([tmp_path / "models"], log=tmp_path / "log")) as server:
        processes = descendants(server.pid)
        assert len(processes) == 2
        os.kill(server.pid, signal.SIGKILL)
        os.waitpid(server.pid, 0)  # until then its processes see a parent
        assert wait_for_end(processes) == []


def test_tensors_of_any_size_and_many_requests(hurt: Hurt) -> None:
    hurt.load("sizes")
    for size in (0, 1, 25_000_000, 5):
        array = np.arange(size, dtype=np.float32)
        assert np.array_equal(hurt.ask("sizes", "", array), array + 1 + 1)
    with ThreadPoolExecutor(32) as pool:
        arrays = [np.full(4, number, np.float32) for number in range(1000)]
        found = list(pool.map(lambda array: hurt.ask("sizes", "", array), arrays))
    assert all(np.array_equal(answer, array + 2) for answer, array in zip(found, arrays, strict=True))


@pytest.mark.parametrize(
    ("file", "damage", "reason"),
    [
        (PLAN, "flip", "plan.json is damaged, or is not of the same build as config.pbtxt"),
        (PLAN, "remove", "plan.json of the fused ensemble cannot be read: No such file or directory"),
        ("steps/first/1/model.py", "flip", "steps/first/1/model.py is damaged, or of another build"),
        ("steps/first/1/weights.bin", "cut", "steps/first/1/weights.bin is damaged, or of another build"),
        ("steps/first/1/weights.bin", "remove", "steps/first/1/weights.bin cannot be read"),
        ("triton_ensembles/runtime/fused/ensemble.py", "flip", "triton_ensembles/runtime/fused/ensemble.py is damaged"),
    ],
)
def test_a_damaged_archive_names_the_file(hurt: Hurt, file: str, damage: str, reason: str) -> None:
    name = f"damaged_{damage}_{Path(file).stem}"
    path = hurt.add(name, weights=bytes(3_000_000)) / file
    if damage == "remove":
        path.unlink()
    else:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content if damage == "flip" else content[:-1000])
    assert reason in hurt.refusal(name).splitlines()[0]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_package\n", "ModuleNotFoundError: No module named 'no_such_package'"),
        (INITIALIZE + "raise OSError('no disk')\n", "OSError: no disk"),
        (INITIALIZE + "__import__('os')._exit(3)\n", "exit code 3"),
        ("x = 1\n", "module '1.model' has no attribute 'TritonPythonModel'"),
    ],
)
def test_a_step_that_does_not_initialize_is_named(hurt: Hurt, source: str, reason: str) -> None:
    name = f"uninitialized_{abs(hash(source))}"
    hurt.add(name, first=ECHO, broken=source)
    refusal = hurt.refusal(name)
    assert "the step broken" in refusal and reason in refusal
