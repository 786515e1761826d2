"""model.py before the real server: what the rules say of a request is what happens to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checking.packing import faults
from tests.checking.served import ModelLoader
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

HEAD = "import triton_python_backend_utils as pb_utils\n\n\nclass TritonPythonModel:\n"
EXECUTE = f"{HEAD}    def execute(self, requests):\n"
LOOP = """\
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            y = pb_utils.Tensor("Y", x)
            response = pb_utils.InferenceResponse([y])
"""
LIST = "        responses = []\n"
END = "            responses.append(response)\n        return responses\n"
GOOD = LIST + LOOP + END
ANSWER = """
    def answer(self, request):
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", request.inputs()[0].as_numpy())])
"""
TRIED = """\
        try:
            return self.fast(requests)
        except AttributeError:
            pass
"""
EACH = f"{EXECUTE}        return [self.answer(request) for request in requests]\n"
BASE = HEAD.replace("TritonPythonModel", "Base")
KINDS = """\
    def initialize(self, args: "list[pb_utils.Tensor]"):
        pb_utils.MetricFamily.HISTOGRAM, pb_utils.TritonError.UNKNOWN, pb_utils.Logger.LogLevel.__name__

"""
NO_LIST, ARGUMENTS, USE = "model-py-returns-no-list", "model-py-call-arguments", "model-py-object-use"
INPUT, UNDEFINED, UNKNOWN = "model-py-input-name", "model-py-undefined-name", "model-py-unknown-attribute"
# Parts of the answers.
RIGHT, UNANSWERED = "[1.0,2.0,3.0,4.0]", ""
A_LIST, A_NUMBER = "Expected a list", "do not match"
CONSTRUCTOR, NO_INPUT = "incompatible constructor arguments", "'NoneType' object has no attribute 'as_numpy'"


def good(before: str, after: str) -> str:
    """A model that answers, with one change."""
    return EXECUTE + GOOD.replace(before, after)


def ends(line: str) -> str:
    """A model whose loop is right and whose last line is this one."""
    return f"{EXECUTE}{LOOP}{line}\n"


IN = " " * 12
COUNTED = f'for n in range(2):\n    {IN}x = pb_utils.get_input_tensor_by_name(request, f"X{{n}}")'
PREPARE = "\n    def prepare(self):\n        self.seconds = time.time()\n"
DERIVED = "\n\nclass TritonPythonModel(Base):\n"
INHERITED = f"{BASE}    NAME = 'Z'\n\n{EXECUTE.removeprefix(HEAD)}{GOOD}{DERIVED}    pass\n"
INHERITED = INHERITED.replace('"X"', "self.NAME")
OVERRIDDEN = f"{BASE}    def answer(self, request):\n        missing(pb_utils.Tensor)\n{EACH}{ANSWER}"
OVERRIDDEN = OVERRIDDEN.replace(HEAD, DERIVED)


def asking(line: str) -> str:
    """A model that asks the model ``good``, with the line that makes its answer."""
    named = 'model_name="good", requested_output_names=["Y"], inputs=request.inputs()'
    call = f"call = pb_utils.InferenceRequest({named})"
    read = 'y = pb_utils.get_output_tensor_by_name(answer, "Y")'
    return good('y = pb_utils.Tensor("Y", x)', f"{call}\n{IN}{line}\n{IN}{read}").replace("    def", "    async def")


# What the checker says (an error or nothing), what the model is, and a part of the answer.
CASES = {
    "nothing": ("model-py-returns-nothing", EXECUTE + LIST + LOOP, UNANSWERED),
    "none-each": (NO_LIST, f"{EXECUTE}        return [None for _ in requests]\n", UNANSWERED),
    "one": (NO_LIST, ends("        return response"), A_LIST),
    "generator": (NO_LIST, ends("            yield response"), "error"),
    "empty": (NO_LIST, f"{EXECUTE}{LIST}{LOOP}        return responses\n", A_NUMBER),
    "tensors": (NO_LIST, good("append(response)", "append(y)"), "Expected an 'InferenceResponse' object"),
    "list-as-array": (ARGUMENTS, good('"Y", x', '"Y", x.tolist()'), CONSTRUCTOR),
    "logger": (UNKNOWN, f'{EXECUTE}        pb_utils.Logger.warning("x")\n{GOOD}', "no attribute 'warning'"),
    "undefined": (UNDEFINED, good(", x)", ", np.abs(x))"), "name 'np' is not defined"),
    "helper": (UNDEFINED, f"{EXECUTE}        self.prepare()\n{GOOD}{PREPARE}", "name 'time' is not defined"),
    "counted": (INPUT, good('x = pb_utils.get_input_tensor_by_name(request, "X")', COUNTED), NO_INPUT),
    "forgotten": (NO_LIST, EACH + ANSWER.replace("return pb", "pb"), UNANSWERED),
    "inherited": (INPUT, INHERITED, NO_INPUT),
    "inherited-without": ("model-py-no-execute", f"class Base:\n    pass\n{DERIVED}    pass\n", "does not implement"),
    "overridden": ("", OVERRIDDEN, RIGHT),
    "numpy": (USE, good("as_numpy()", "numpy()"), "has no attribute 'numpy'"),
    "unset": ("model-py-attribute", good('"Y", x', '"Y", x * self.factor'), "has no attribute 'factor'"),
    "asked-first": ("", good("y =", f"if hasattr(request, 'priority'):\n    {IN}request.priority()\n{IN}y ="), RIGHT),
    "exec-awaited": (USE, asking("answer = await call.exec()"), "can't be used in 'await' expression"),
    "exec-not-awaited": (USE, asking("answer = call.async_exec()"), "no attribute 'output_tensors'"),
    "async-exec": ("", asking("answer = await call.async_exec()"), RIGHT),
    "iterator": (USE, asking("answer = call.exec(decoupled=True)"), "no attribute 'output_tensors'"),
    "iterated": ("", asking(f"for answer in call.exec(decoupled=True):\n    {IN}break"), RIGHT),
    "uncalled": (USE, asking(f"answer = call.exec()\n{IN}if answer.has_error: raise ValueError"), "ValueError"),
    "asked-for": (UNDEFINED, good("[y]", "[missing for _ in request.requested_output_names()]"), "name 'missing'"),
    "good": ("", EXECUTE + GOOD, RIGHT),
    "relative": ("", EXECUTE.replace("import", "from . import model\nimport", 1) + GOOD, RIGHT),
    "kinds": ("", f"{HEAD}{KINDS}{EXECUTE.removeprefix(HEAD)}{GOOD}", RIGHT),
    "at-first": ("", ends("            return [response]"), RIGHT),
    "tried": ("", EXECUTE + TRIED + GOOD + "\n    def never(self):\n        return missing\n", RIGHT),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelLoader]:
    folder = tmp_path_factory.mktemp("answers")
    for name, (_, code, _) in CASES.items():
        stage(Example(python_model(), {"1/model.py": code}), folder / "models", name)
    with ModelLoader(folder / "models", folder) as server:
        yield server
        server.kill()  # requests that nobody answers hold it


def _answer(server: ModelLoader, model: str, seconds: float) -> str:
    tensor = {"name": "X", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}
    try:
        return server.ask(model, {"inputs": [tensor], "outputs": [{"name": "Y"}]}, seconds)
    except TimeoutError:
        return ""


@pytest.mark.parametrize("name", CASES)
def test_the_server_does_what_the_checker_says(name: str, server: ModelLoader, tmp_path: Path) -> None:
    """Otherwise a model that fails every request is built, or one that answers is refused."""
    rule, code, words = CASES[name]
    stage(Example(python_model(), {"1/model.py": code}), tmp_path, name)
    stage(Example(python_model(), {"1/model.py": CASES["good"][1]}), tmp_path, "good")
    assert {fault.rule for fault in faults(tmp_path) if fault.severity is Severity.ERROR} == ({rule} if rule else set())
    assert server.load_surely(name).loaded and server.load_surely("good").loaded
    answer = _answer(server, name, seconds=60 if words else 3)
    assert words in answer and bool(words) == bool(answer), answer
