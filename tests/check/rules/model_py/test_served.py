"""model.py before the real server: what the rules say of a request is what happens to it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.check.served import ModelLoader
from triton_ensembles.archive.folder import read_folder
from triton_ensembles.check.checker import check_repositories
from triton_ensembles.check.examples import python_model
from triton_ensembles.check.fault import Severity
from triton_ensembles.check.repository import Form, Repository
from triton_ensembles.check.rule import Example
from triton_ensembles.check.staging_example import stage
from triton_ensembles.triton.destination import Destination

IMPORT = "import triton_python_backend_utils as pb_utils\n\n\n"
HEAD = f"{IMPORT}class TritonPythonModel:\n"
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
OPTIONAL = """\
            hint = pb_utils.get_input_tensor_by_name(request, "HINT")
            if hint is not None:
                response = hint.as_numpy()
"""
ANSWER = """\
    def answer(self, request):
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", request.inputs()[0].as_numpy())])
"""
TRIED = """\
        try:
            return self.fast(requests)
        except AttributeError:
            pass
"""
# What the checker says (an error or nothing), what the model is, and a part of the answer ("" for none in time).
CASES = {
    "nothing": ("model-py-returns-nothing", EXECUTE + LIST + LOOP, ""),
    "pass": ("model-py-returns-nothing", f"{EXECUTE}        pass\n", ""),
    "none-each": ("model-py-returns-no-list", f"{EXECUTE}        return [None for _ in requests]\n", ""),
    "one": ("model-py-returns-no-list", f"{EXECUTE}{LOOP}        return response\n", "Expected a list"),
    "tuple": ("model-py-returns-no-list", f"{EXECUTE}{LOOP}        return (response,)\n", "Expected a list"),
    "generator": ("model-py-returns-no-list", f"{EXECUTE}{LOOP}            yield response\n", "error"),
    "empty": ("model-py-returns-no-list", f"{EXECUTE}{LIST}{LOOP}        return responses\n", "do not match"),
    "twice": (
        "model-py-responses-twice",
        EXECUTE + LIST + LOOP + "            responses.append(response)\n" + END,
        "do not match",
    ),
    "branch": (
        "",  # a warning: only of requests that go there
        f"{EXECUTE}{LIST}{LOOP}            if x.size:\n                responses.append(response)\n{END}",
        "do not match",
    ),
    "tensors": (
        "model-py-returns-no-list",
        f"{EXECUTE}{LIST}{LOOP}            responses.append(y)\n        return responses\n",
        "Expected an 'InferenceResponse' object",
    ),
    "keyword": (
        "model-py-call-arguments",
        EXECUTE + GOOD.replace('Tensor("Y", x)', 'Tensor(name="Y", numpy_array=x)'),
        "incompatible constructor arguments",
    ),
    "one-tensor": ("model-py-call-arguments", EXECUTE + GOOD.replace("[y]", "y"), "incompatible constructor arguments"),
    "list-as-array": (
        "model-py-call-arguments",
        EXECUTE + GOOD.replace('"Y", x', '"Y", x.tolist()'),
        "incompatible constructor arguments",
    ),
    "shape": (
        "model-py-call-arguments",
        EXECUTE + GOOD.replace('"Y", x', '"Y", x, x.shape'),
        "incompatible constructor arguments",
    ),
    "text-as-error": (
        "model-py-call-arguments",
        EXECUTE + GOOD.replace("[y]", '[y], error="none"'),
        "incompatible constructor arguments",
    ),
    "logger": (
        "model-py-logger",
        f'{EXECUTE}        pb_utils.Logger.warning("x")\n{GOOD}',
        "has no attribute 'warning'",
    ),
    "undefined": (
        "model-py-undefined-name",
        EXECUTE + GOOD.replace(", x)", ", np.abs(x))"),
        "name 'np' is not defined",
    ),
    "helper": (
        "model-py-undefined-name",
        f"{EXECUTE}        self.prepare()\n{GOOD}\n    def prepare(self):\n        self.seconds = time.time()\n",
        "name 'time' is not defined",
    ),
    "counted": (
        "model-py-input-name",
        EXECUTE
        + GOOD.replace('(request, "X")', '(request, f"X{n}")').replace(
            "            x =", "            for n in range(2):\n                x ="
        ),
        "'NoneType' object has no attribute 'as_numpy'",
    ),
    "arrays": (
        "model-py-returns-no-list",
        f"{EXECUTE}        return [request.inputs()[0].as_numpy() for request in requests]\n",
        "Expected an 'InferenceResponse' object",
    ),
    "coroutines": (
        "model-py-returns-no-list",
        f"{EXECUTE}        return [self.answer(request) for request in requests]\n\n{ANSWER}".replace(
            "    def answer", "    async def answer"
        ),
        "Expected an 'InferenceResponse' object",
    ),
    "forgotten": (
        "model-py-returns-no-list",
        f"{EXECUTE}        return [self.answer(request) for request in requests]\n\n{ANSWER}".replace(
            "return pb", "pb"
        ),
        "",
    ),
    "inherited": (
        "model-py-input-name",
        HEAD.replace("TritonPythonModel", "Base")
        + "    NAME = 'Z'\n\n    def execute(self, requests):\n"
        + GOOD.replace('"X"', "self.NAME")
        + "\n\nclass TritonPythonModel(Base):\n    pass\n",
        "'NoneType' object has no attribute 'as_numpy'",
    ),
    "inherited-without": (
        "model-py-no-execute",
        "class Base:\n    def run(self):\n        pass\n\n\nclass TritonPythonModel(Base):\n    pass\n",
        "does not implement `execute` method",
    ),
    "overridden": (
        "",
        HEAD.replace("TritonPythonModel", "Base")
        + "    def answer(self, request):\n"
        + "        missing(pb_utils.get_input_tensor_by_name(request, 'Z').shape())\n"
        + EXECUTE.replace("class TritonPythonModel", "\n\nclass TritonPythonModel(Base)").removeprefix(IMPORT)
        + f"        return [self.answer(request) for request in requests]\n\n{ANSWER}",
        "[1.0,2.0,3.0,4.0]",
    ),
    "first-of-list": (
        "model-py-returns-no-list",
        EXECUTE + GOOD.replace("return responses", "return responses[0]"),
        "Expected a list",
    ),
    "array-of-responses": (
        "model-py-returns-no-list",
        "import numpy as np\n" + EXECUTE + GOOD.replace("return responses", "return np.array(responses)"),
        "Expected a list",
    ),
    "swapped": ("model-py-call-arguments", EXECUTE + GOOD.replace('"Y", x', 'x, "Y"'), "incompatible constructor"),
    "number": (
        "model-py-call-arguments",
        EXECUTE + GOOD.replace('"Y", x', '"Y", x.mean()'),
        "incompatible constructor",
    ),
    "uncalled": (
        "model-py-call-arguments",
        EXECUTE + GOOD.replace("as_numpy()", "as_numpy"),
        "incompatible constructor",
    ),
    "requests": (
        "model-py-call-arguments",
        EXECUTE + GOOD.replace("by_name(request,", "by_name(requests,"),
        "has no attribute 'inputs'",
    ),
    "arrays-as-outputs": ("model-py-call-arguments", EXECUTE + GOOD.replace("[y]", "[x]"), "incompatible constructor"),
    "numpy": ("model-py-object-use", EXECUTE + GOOD.replace("as_numpy()", "numpy()"), "has no attribute 'numpy'"),
    "subscripted": (
        "model-py-object-use",
        EXECUTE + GOOD.replace('pb_utils.get_input_tensor_by_name(request, "X")', "request.inputs[0]"),
        "not subscriptable",
    ),
    "tensor-times-two": (
        "model-py-object-use",
        EXECUTE + GOOD.replace('"X").as_numpy()', '"X") * 2'),
        "unsupported operand",
    ),
    "extended": ("model-py-object-use", EXECUTE + GOOD.replace("append", "extend"), "is not iterable"),
    "not-awaited": (
        "model-py-object-use",
        EXECUTE
        + GOOD.replace('"Y", x', '"Y", self.twice(x).astype("f")')
        + "\n    async def twice(self, x):\n        return x\n",
        "'coroutine' object has no attribute 'astype'",
    ),
    "text-of-array": (
        "model-py-array-dtype",
        EXECUTE + GOOD.replace('"Y", x', '"Y", x.astype("U8")'),
        "NumPy dtype is not supported",
    ),
    "texts-and-bytes": (
        "model-py-array-dtype",
        f"import numpy as np\n{EXECUTE}" + GOOD.replace('"Y", x', '"Y", np.array(["a", b"b"])'),
        "NumPy dtype is not supported",
    ),
    "without-self": (
        "model-py-helper-arguments",
        EXECUTE + GOOD.replace('"Y", x', '"Y", self.twice(x)') + "\n    def twice(x):\n        return x * 2\n",
        "takes 1 positional argument but 2 were given",
    ),
    "unset": (
        "model-py-attribute",
        EXECUTE + GOOD.replace('"Y", x', '"Y", x * self.factor'),
        "has no attribute 'factor'",
    ),
    "exits": ("model-py-exit", f"import sys\n{EXECUTE}        sys.exit()\n{GOOD}", "SystemExit"),
    "never-final": (
        "model-py-sender-final",
        f"{EXECUTE}{LOOP}            request.get_response_sender().send(response)\n",
        "",
    ),
    "changed-name": (
        "",
        EXECUTE
        + GOOD.replace(".as_numpy()", "\n            x = x.as_numpy()").replace('"Y", x', '"Y", x.reshape(x.shape)'),
        "[1.0,2.0,3.0,4.0]",
    ),
    "asked-first": (
        "",
        EXECUTE
        + GOOD.replace(
            "            y =",
            "            if hasattr(request, 'priority'):\n                request.priority()\n            y =",
        ),
        "[1.0,2.0,3.0,4.0]",
    ),
    "in-a-thread": (
        "",
        f"from threading import Thread\n{EXECUTE}        for request in requests:\n"
        "            Thread(target=self.answer, args=(request, request.get_response_sender())).start()\n\n"
        "    def answer(self, request, sender):\n        x = request.inputs()[0].as_numpy()\n"
        '        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]), 1)\n',
        "[1.0,2.0,3.0,4.0]",
    ),
    "parameters-in-place": (
        "",
        f"import json\n{HEAD}    def initialize(self, args):\n"
        '        self.read(json.loads(args["model_config"])["parameters"])\n\n    def read(self, values):\n'
        '        for key in list(values):\n            values[key] = values[key]["string_value"]\n'
        '        values["size"] = "1"\n        self.size = int(values["size"])\n\n    def execute(self, requests):\n'
        + GOOD,
        "[1.0,2.0,3.0,4.0]",
    ),
    "good": ("", EXECUTE + GOOD, "[1.0,2.0,3.0,4.0]"),
    "relative": ("", EXECUTE.replace("import", "from . import model\nimport", 1) + GOOD, "[1.0,2.0,3.0,4.0]"),
    "optional": ("", EXECUTE + LIST + LOOP + OPTIONAL + END, "[1.0,2.0,3.0,4.0]"),
    "tensor-more": ("", EXECUTE + GOOD.replace("[y]", '[y, pb_utils.Tensor("Z", x)]'), "[1.0,2.0,3.0,4.0]"),
    "at-first": ("", f"{EXECUTE}{LOOP}            return [response]\n", "[1.0,2.0,3.0,4.0]"),
    "mapped": (
        "",
        f"{EXECUTE}        return list(map(self.answer, requests))\n\n    def answer(self, request):\n"
        '        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", request.inputs()[0].as_numpy())])\n',
        "[1.0,2.0,3.0,4.0]",
    ),
    "tried": ("", EXECUTE + TRIED + GOOD + "\n    def never(self):\n        return missing\n", "[1.0,2.0,3.0,4.0]"),
    "sender": (
        "",
        EXECUTE + LOOP + "            request.get_response_sender().send(response, flags=1)\n",
        "[1.0,2.0,3.0,4.0]",
    ),
    "coroutine": ("", EXECUTE.replace("    def", "    async def") + GOOD, "[1.0,2.0,3.0,4.0]"),
    "injected": ("", f"globals().update(n=1)\n{EXECUTE}        n + 1\n{GOOD}", "[1.0,2.0,3.0,4.0]"),
}

CONFIG = 'json.loads(args["model_config"])'
# What the checker says of a line of initialize, and what the server says at the load.
REFUSED = {
    "argument": ("model-py-unknown-key", 'args["model_nam"]', "KeyError: 'model_nam'"),
    "argument-got": ("model-py-unknown-key", 'json.loads(args.get("config"))', "not NoneType"),
    "argument-attribute": ("model-py-object-use", "args.model_config", "has no attribute 'model_config'"),
    "field": ("model-py-unknown-key", f'{CONFIG}["parameter"]', "KeyError: 'parameter'"),
    "parameter": ("model-py-unknown-key", f'{CONFIG}["parameters"]["size"]["string_value"]', "KeyError: 'size'"),
    "field-of-output": ("model-py-unknown-key", f'{CONFIG}["output"][0]["dtype"]', "KeyError: 'dtype'"),
    "text-as-config": ("model-py-object-use", 'args["model_config"]["output"]', "string indices must be integers"),
    "text-plus-number": ("model-py-object-use", 'args["model_version"] + 1', "can only concatenate str"),
    "config-unread": (
        "model-py-call-arguments",
        'pb_utils.get_output_config_by_name(args["model_config"], "Y")["dims"]',
        "string indices must be integers",
    ),
    "no-such-output": (
        "model-py-output-config",
        f'pb_utils.get_output_config_by_name({CONFIG}, "y")["dims"]',
        "'NoneType' object is not subscriptable",
    ),
    "type-name": ("model-py-type-name", 'pb_utils.triton_string_to_numpy("TYPE_BYTES")', "KeyError: 'TYPE_BYTES'"),
    "json-load": ("model-py-call-arguments", 'json.load(args["model_config"])', "has no attribute 'read'"),
    "relative": ("model-py-relative-import", "from . import labels", "cannot import name 'labels' from '1'"),
    "relative-out": ("model-py-relative-import", "from .. import labels", "beyond top-level package"),
    "exit": ("model-py-exit", "exit()", "SystemExit"),
    "hard-exit": ("model-py-exit", "os._exit(0)", "is not healthy"),
    "keyboard": ("model-py-keyboard", "input()", "EOFError"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelLoader]:
    folder = tmp_path_factory.mktemp("answers")
    for name, (_, code, _) in CASES.items():
        stage(Example(python_model(), {"1/model.py": code}), folder / "models", name)
    for name, (_, line, _) in REFUSED.items():
        stage(_initializing(line), folder / "models", f"refused-{name}")
    with ModelLoader(folder / "models", folder) as server:
        yield server
        server.kill()  # requests that nobody answers hold it


def _initializing(line: str) -> Example:
    initialize = f"    def initialize(self, args):\n        {line}\n\n"
    code = f"import json\nimport os\n{HEAD}{initialize}    def execute(self, requests):\n{GOOD}"
    return Example(python_model(), {"1/model.py": code})


@pytest.mark.parametrize("name", REFUSED)
def test_the_server_refuses_what_the_checker_says(name: str, server: ModelLoader, tmp_path: Path) -> None:
    """Otherwise the first load on the endpoint finds it."""
    rule, line, words = REFUSED[name]
    stage(_initializing(line), tmp_path, name)
    found = check_repositories([Repository(tmp_path, "r", Form.FOLDER, read_folder(tmp_path))], Destination())
    assert [fault.rule for fault in found] == [rule]
    result = server.load(f"refused-{name}")
    assert not result.loaded and words in result.words


def _answer(url: str, model: str, seconds: float) -> str:
    tensor = {"name": "X", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}
    body = json.dumps({"inputs": [tensor], "outputs": [{"name": "Y"}]}).encode()
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"{url}/v2/models/{model}/infer", body), timeout=seconds
        ) as reply:
            return str(reply.read(), "utf-8")
    except urllib.error.HTTPError as error:
        return str(error.read(), "utf-8")
    except TimeoutError:
        return ""


@pytest.mark.parametrize("name", CASES)
def test_the_server_does_what_the_checker_says(name: str, server: ModelLoader, tmp_path: Path) -> None:
    """Otherwise a model that fails every request is built, or one that answers is refused."""
    rule, code, words = CASES[name]
    stage(Example(python_model(), {"1/model.py": code}), tmp_path, name)
    found = check_repositories([Repository(tmp_path, "r", Form.FOLDER, read_folder(tmp_path))], Destination())
    assert {fault.rule for fault in found if fault.severity is Severity.ERROR} == ({rule} if rule else set())
    assert server.load(name).loaded
    said = _answer(server.url, name, seconds=60 if words else 3)
    assert words in said and bool(words) == bool(said), said
