"""What a unit test of a Python step can do."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from checkout import ROOT
from tests.files import write_files
from tests.pythons import any_python_or_skip
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.testing import Request, TritonError, load_step

CONFIG = """backend: "python"
max_batch_size: 4
input [ { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] } ]
input [ { name: "SCALE" data_type: TYPE_FP32 dims: [ 1 ] optional: true } ]
output [ { name: "WORDS" data_type: TYPE_INT32 dims: [ 1 ] } ]
"""
HEAD = "import os\nimport time\n\nimport numpy as np\nimport triton_python_backend_utils as pb_utils\n\n\n"
MODEL = f"""{HEAD}def count(text):
    return len(text.split())


class TritonPythonModel:
    def initialize(self, args):
        self.batches = []

    def execute(self, requests):
        self.batches.append([(each.flags(), each.correlation_id(), each.parameters()) for each in requests])
        return [self.answer(request) for request in requests]

    def answer(self, request):
        texts = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy()
        scale = pb_utils.get_input_tensor_by_name(request, "SCALE")
        words = np.array([[count(text)] for text in texts[:, 0]], np.int32)
        if scale is not None:
            words = (words * scale.as_numpy()).astype(np.int32)
        return pb_utils.InferenceResponse([pb_utils.Tensor("WORDS", words)])

    def finalize(self):
        self.batches.append("the end")
"""
ROUTER = f"""{HEAD}class TritonPythonModel:
    def initialize(self, args):
        try:
            self.call(np.zeros((1, 1), object)).exec()
        except pb_utils.TritonModelException as error:
            self.early = str(error)

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def call(self, array):
        text = pb_utils.Tensor("TEXT", array)
        return pb_utils.InferenceRequest(model_name="words", requested_output_names=["WORDS"], inputs=[text])

    def answer(self, request):
        call = self.call(pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy())
        if request.request_id() == "stream":
            return pb_utils.InferenceResponse(list(call.exec(decoupled=True))[1].output_tensors())
        response = call.exec()
        if response.has_error():
            return pb_utils.InferenceResponse(error=response.error())
        return pb_utils.InferenceResponse(response.output_tensors())
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {f"{name}/config.pbtxt": CONFIG for name in ("words", "router")}
    write_files(tmp_path, {**files, "words/1/model.py": MODEL, "router/1/model.py": ROUTER})
    return tmp_path


def broken(repository: Path, *lines: str, method: str = "execute(self, requests)") -> Path:
    body = "".join(f"        {line}\n" for line in lines)
    (repository / "words/1/model.py").write_text(f"{HEAD}class TritonPythonModel:\n    def {method}:\n{body}")
    return repository / "words"


def test_a_request_is_arrays_and_so_is_its_answer(repository: Path) -> None:
    with load_step(repository / "words") as step:
        assert step.infer(TEXT=["good film"])["WORDS"].tolist() == [[2]]
        assert step.infer(TEXT=[["a"], ["b c"]], SCALE=[3, 2])["WORDS"].tolist() == [[3], [4]]
        assert step.infer(TEXT=np.array([[b"x y"]], object))["WORDS"].dtype == np.int32
        for wrong in ([["a"]] * 5, np.zeros((1, 1), np.float32), [["a", "b"]]):
            with pytest.raises(TritonError) as caught:
                step.infer(TEXT=wrong)
            assert caught.value.code == "INVALID_ARG" and "words" in str(caught.value)
        with pytest.raises(TritonError, match="data-type is 'FP64', but model 'words' expects 'FP32'"):
            step.infer(TEXT=["a"], SCALE=np.zeros((1, 1)))
        with pytest.raises(EnsembleError, match="the input 'SCALE' is no array"):
            step.infer(TEXT=["a"], SCALE=[[1], [1, 2]])


def test_requests_of_one_batch_come_together(repository: Path) -> None:
    """Otherwise what depends on a batch is never tested; a request that is refused harms no other."""
    requests = [
        Request({"TEXT": ["a b c"]}, sequence=7, start=True, parameters={"a": 1, "b": "ü", "c": True}),
        Request({"TEXT": ["a"]}, outputs=["NONE"]),
        Request({"TEXT": ["a b"]}, sequence="s", end=True),
    ]
    with load_step(repository / "words") as step:
        first, second, third = step.infer_batch(requests)
        assert (first["WORDS"].item(), third["WORDS"].item()) == (3, 2)
        assert str(second) == "unexpected inference output 'NONE' for model 'words'"
        assert step.model.batches == [[(1, 7, '{"a":1,"b":"ü","c":true}'), (2, "s", "{}")]]
    assert step.model.batches[-1] == "the end"


def test_monkeypatch_reaches_a_step(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with load_step(repository / "words") as step:
        monkeypatch.setattr(step.module, "count", lambda text: 9)
        assert step.infer(TEXT=["good film"])["WORDS"].item() == 9


def test_the_error_has_the_step_s_own_as_its_cause(repository: Path) -> None:
    """Otherwise pytest shows no line of the step."""
    with load_step(broken(repository, "raise ValueError('bad')")) as step, pytest.raises(TritonError) as caught:
        step.infer(TEXT=["a"])
    assert isinstance(caught.value.__cause__, ValueError)


def test_two_steps_have_modules_of_their_own(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a step is tested with the helper of another, or of the tests."""
    step = "class TritonPythonModel:\n    def execute(self, requests):\n        from helper_too import NAME\n"
    for name in ("words", "router"):
        files = {"model.py": f"import helper\n\n\n{step}        raise ValueError(helper.NAME + NAME)\n"}
        files |= {"helper.py": f"NAME = '{name}'\n", "../helper_too.py": "NAME = '!'\n"}
        write_files(repository / name / "1", files)
    write_files(repository, {"tests/helper.py": "NAME = 'of the tests'\n"})
    monkeypatch.syspath_prepend(repository / "tests")
    import helper as of_the_tests

    before = sys.path[:]
    with load_step(repository / "words") as one, load_step(repository / "router") as other:
        for step, name in ((one, "words"), (other, "router"), (one, "words")):
            with pytest.raises(TritonError, match=f"ValueError: {name}!"):
                step.infer(TEXT=["a"])
    assert of_the_tests.NAME == "of the tests" and sys.modules["helper"] is of_the_tests and sys.path == before
    assert not list(repository.glob("*/1/__pycache__"))
    monkeypatch.delitem(sys.modules, "helper")


def test_a_call_is_answered_by_a_function_of_the_test(repository: Path) -> None:
    def words(TEXT: np.ndarray) -> dict[str, object]:  # noqa: N803
        if TEXT[0, 0] == b"wrong":
            raise TritonError("no such word", "NOT_FOUND")
        assert TEXT[0, 0] != b"failing", "the test's own assertion"
        return {"WORDS": np.full((1, 1), 5, np.int32), "MORE": [1]}

    with load_step(repository / "router", models={"words": words}) as step:
        assert step.model.early == "BLS is only supported during the 'execute' function."
        assert step.infer(TEXT=["a"])["WORDS"].item() == 5
        with pytest.raises(TritonError, match="no such word"):
            step.infer(TEXT=["wrong"])
        with pytest.raises(AssertionError, match="the test's own assertion"):
            step.infer(TEXT=["failing"])

    def stream(TEXT: np.ndarray) -> list[dict[str, object]]:  # noqa: N803
        return [{"WORDS": np.full((1, 1), number, np.int32)} for number in range(3)]

    with load_step(repository / "router", models={"words": stream}) as step:
        assert step.infer(Request({"TEXT": ["a"]}, id="stream"))["WORDS"].item() == 1


def test_a_call_is_answered_by_a_model_of_the_repository(repository: Path) -> None:
    with load_step(repository / "router") as step:
        assert step.infer(TEXT=["good film"])["WORDS"].item() == 2
    write_files(repository, {"words/config.pbtxt": 'backend: "onnxruntime"\n'})
    with load_step(repository / "router") as step, pytest.raises(EnsembleError, match="it is no Python model"):
        step.infer(TEXT=["good film"])


def test_a_step_that_calls_itself_is_told(repository: Path) -> None:
    """Otherwise the test ends in a stack that overflows, and in Triton the request never ends."""
    path = repository / "router/1/model.py"
    path.write_text(path.read_text().replace('"words"', '"router"'))
    with load_step(repository / "router") as step, pytest.raises(TritonError, match="the model 'router' calls itself"):
        step.infer(TEXT=["a"])


FAILS = "the step words cannot be loaded"
UNTYPED = CONFIG.replace("data_type: TYPE_INT32", "")


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("config.pbtxt", None, "words: there is no config.pbtxt"),
        ("config.pbtxt", 'backend: "python"\ninput [ { nam', "words/config.pbtxt:2"),
        ("config.pbtxt", 'backend: "python"\nbad: 1\n', "words/config.pbtxt:2"),
        ("config.pbtxt", UNTYPED, "words/config.pbtxt:5: output 'WORDS' has no"),
        ("config.pbtxt", 'backend: "onnxruntime"\n', "it is no Python model, but has onnxruntime"),
        ("1/model.py", None, "words: there is no 1/model.py"),
        ("1/model.py", "import no_such\n", f"words/1/model.py:1: {FAILS}: ModuleNotFound"),
        ("1/model.py", "x = (\n", f"words/1/model.py:1: {FAILS}: SyntaxError"),
        ("1/model.py", "x = 1\n", f"words: {FAILS}: AttributeError: module '1.model' has"),
        ("1/model.py", f"{HEAD}X = pb_utils.Tensor\n", f"model.py:8: {FAILS}: AttributeError"),
        ("1/model.py", "import sys\nsys.exit(3)\n", f"words/1/model.py:2: {FAILS}: SystemExit"),
        ("1/model.py", "import os\nos._exit(3)\n", "words/1/model.py:2: os._exit ends the process"),
        ("1/model.py", "while True:\n    pass\n", "has not returned after 1 s"),
    ],
)
def test_a_step_that_cannot_be_loaded_says_why(repository: Path, file: str, content: str | None, says: str) -> None:
    (repository / "words" / file).unlink()
    if content is not None:
        (repository / "words" / file).write_text(content)
    with pytest.raises(EnsembleError) as caught:
        load_step(repository / "words", seconds=1)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["time.sleep(100)"], "model.py:10: execute has not returned after 1 s"),
        (
            ["while True:", "    try:", "        time.sleep(100)", "    except Exception:", "        pass"],
            "model.py:12: exec",
        ),
        (["os.kill(os.getpid(), 9)"], "model.py:10: os.kill ends the process"),
        (["return None"], "the request '' has no last answer"),
    ],
)
def test_a_step_that_would_end_or_stop_the_tests_says_where(repository: Path, lines: list[str], says: str) -> None:
    """Otherwise the tests after it are lost, or never run."""
    with load_step(broken(repository, *lines), seconds=1) as step, pytest.raises(EnsembleError) as caught:
        step.infer(TEXT=["a"])
    assert says in str(caught.value)


def test_a_process_that_a_step_forks_may_end(repository: Path) -> None:
    lines = ("pid = os.fork()", "if not pid:", "    os._exit(3)", "raise ValueError(os.waitpid(pid, 0)[1] >> 8)")
    with load_step(broken(repository, *lines)) as step, pytest.raises(TritonError, match="ValueError: 3"):
        step.infer(TEXT=["a"])


def test_a_thread_of_the_tests_may_send_requests(repository: Path) -> None:
    found = []
    with load_step(repository / "words") as step:
        thread = threading.Thread(target=lambda: found.append(step.infer(TEXT=["a b"])["WORDS"].item()))
        thread.start()
        thread.join()
    assert found == [2]


def test_a_config_is_completed_as_triton_does(repository: Path) -> None:
    write_files(
        repository,
        {
            "words/config.pbtxt": 'backend: "python"\n',
            "words/1/model.py": MODEL
            + """
    @staticmethod
    def auto_complete_config(config):
        config.set_max_batch_size(2)
        config.add_input({"name": "TEXT", "data_type": "TYPE_STRING", "dims": [1]})
        config.add_output({"name": "WORDS", "data_type": "TYPE_INT32", "dims": [1]})
        return config
""",
        },
    )
    with load_step(repository / "words") as step:
        assert step.infer(TEXT=["a b"])["WORDS"].item() == 2
        with pytest.raises(TritonError, match="batch-size must be <= 2"):
            step.infer(TEXT=["a"] * 3)


def test_a_step_with_a_python_of_its_own_is_refused_by_name(repository: Path) -> None:
    path = repository / "words/config.pbtxt"
    own = 'parameters { key: "EXECUTION_ENV_PATH" value: { string_value: "$$TRITON_MODEL_DIRECTORY/env.tar.gz" } }\n'
    path.write_text(CONFIG + own)
    with pytest.raises(EnsembleError, match="a Python of its own, EXECUTION_ENV_PATH"):
        load_step(path.parent)
    with load_step(path.parent, this_python=True) as step:
        assert step.infer(TEXT=["a"])["WORDS"].item() == 1


UNIT_TEST = """
def test_words(triton_step):
    step = triton_step("words")
    assert step.infer(TEXT=["good film"])["WORDS"].tolist() == [[2]]
"""


@pytest.mark.slow
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_it_needs_numpy_and_pytest_alone(wheel: Path, repository: Path, tmp_path: Path, python: str) -> None:
    """Otherwise a unit test needs a server, or the Python of one."""
    interpreter = any_python_or_skip(python)
    subprocess.run([interpreter.executable, "-m", "venv", tmp_path / "environment"], check=True)
    own = tmp_path / "environment" / "bin" / "python"
    pip = [own, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wheel, "numpy", "pytest"]
    subprocess.run(pip, check=True)
    write_files(repository, {"test_words.py": UNIT_TEST, "pytest.ini": "[pytest]\n"})
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_words.py"]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_step_of_an_ensemble_has_its_helpers() -> None:
    """Otherwise what is shown does not work on what is here."""
    digits = ROOT / "ensembles" / "digits"
    image = np.frombuffer((digits / "ensemble/examples/three.png").read_bytes(), np.uint8)
    with load_step(digits / "preprocess") as step:
        assert step.infer(IMAGE=image[None])["INK"].shape == (1, 8, 8)
        with pytest.raises(TritonError, match="row 0 of IMAGE"):
            step.infer(IMAGE=image[None, :9])
