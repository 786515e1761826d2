"""model.py, parsed and never run: what the stub needs, the tensors that it names, and what fails on an endpoint."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checking.packing import MODEL_PY, Content, code_faults, environment, faults, members, write, write_folder
from triton_ensembles.checking.fault import Fault, Severity

HEAD = "import triton_python_backend_utils as pb_utils\n\n\n"
CLASS, EXECUTE = "TritonPythonModel", "def execute(self, requests): ...\n"
RETURN = "\n        return self.a\n\n    a: list\n"
_OPENING = f"    def execute(self, requests):\n        {{}}\n    {RETURN[1:]}"
_INIT = "    def initialize(self, args):\n        {}\n\n    def execute(self, requests):" + RETURN


def _faults(tmp_path: Path, model_py: str | bytes, **target: str) -> list[Fault]:
    found = code_faults(tmp_path, model_py, **target)
    return [fault for fault in found if fault.rule != "import-missing"]  # see test_step_imports.py


def _rules(tmp_path: Path, model_py: str) -> list[str]:
    return [fault.rule for fault in _faults(tmp_path, model_py)]


def _class(body: str) -> str:
    return f"{HEAD}class TritonPythonModel:\n{body}"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (MODEL_PY, []),
        ("from base import TritonPythonModel\n", []),
        (f"class M:\n    {EXECUTE}\n\n{CLASS} = M\n", []),
        (f'if __name__ == "__main__":\n    class {CLASS}:\n        {EXECUTE}', [("model-py-no-class", 1)]),
        ('if __name__ == "__main__":\n    pass\nelse:\n    from base import TritonPythonModel\n', []),
        (f"class TritonPythonmodel:\n    {EXECUTE}", [("model-py-no-class", 1)]),
        (_class("    def execute(self, requests)\n        return 1\n"), [("model-py-syntax", 5)]),
        (_class("    def exectue(self, requests): ...\n"), [("model-py-no-execute", 4)]),
        ("from base import Base\n\n\nclass TritonPythonModel(Base):\n    pass\n", []),
        (_class(f"    def execute(self, requests, extra):{RETURN}"), [("model-py-execute-arguments", 5)]),
        (_class(f"    def execute(self, requests, extra=1):{RETURN}"), []),
        (_class(f"    def execute(self, *args):{RETURN}"), []),
        (_class("    @staticmethod\n    def execute(requests):\n        return list(requests)\n"), []),
        (_class(f"    async def execute(self, requests):{RETURN}"), []),
        (f"{HEAD}from __future__ import annotations\n{MODEL_PY}", [("model-py-syntax", 4)]),
        (f"{MODEL_PY}\nreturn 1\n", [("model-py-syntax", MODEL_PY.count("\n") + 2)]),
        ("<!DOCTYPE html>\n<html></html>\n", [("model-file-broken", 0)]),  # and no fault of syntax
    ],
)
def test_the_class_and_its_execute(code: str, expected: list[tuple[str, int]], tmp_path: Path) -> None:
    """Otherwise the stub refuses what the checker passes, or the reverse."""
    assert [(fault.rule, fault.place.line) for fault in _faults(tmp_path, code)] == expected


IMPORT = "from triton_python_backend_utils import Tensor, InferenceResponse, get_input_tensor_by_name as get\n"
IMPORTED_NAMES = IMPORT + MODEL_PY.replace("pb_utils.get_input_tensor_by_name", "get").replace("pb_utils.", "")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('NAME = "Z"\n' + MODEL_PY.replace('"X"', "NAME"), ["model-py-input-name"]),
        ('NAME = "Z"\nNAME = "X"\n' + MODEL_PY.replace('"X"', "NAME"), []),  # bound twice: unknown
        (MODEL_PY.replace('"X"', "self.name") + "\n    name: str\n", []),
        ("from tensors import make\n" + MODEL_PY.replace("pb_utils.Tensor", "make"), []),
        (IMPORTED_NAMES.replace('"X"', '"Q"'), ["model-py-unknown-attribute", "model-py-input-name"]),
    ],
)
def test_names_of_tensors(code: str, expected: list[str], tmp_path: Path) -> None:
    """Otherwise the first request to the endpoint finds the misspelled name."""
    assert _rules(tmp_path, code) == expected


def test_the_corrected_line_is_shown(tmp_path: Path) -> None:
    """Otherwise people have to look up the name themselves."""
    (fault,) = _faults(tmp_path, MODEL_PY.replace('"Y"', '"y"'))
    assert 'pb_utils.Tensor("Y", x)' in fault.cure


def test_newer_python_syntax_is_not_an_error(tmp_path: Path) -> None:
    """Otherwise a model for a newer Python than the checker's cannot be built at all."""
    env = {"a.step/env.tar.gz": environment("3.99"), "a.step/triton_python_backend_stub": b"\x7fELF"}
    files = {**members("a", "$$TRITON_MODEL_DIRECTORY/env.tar.gz", "match := [}"), **env}
    found = {fault.rule for fault in faults(write(tmp_path / "a.tar.gz", files))}
    assert found == {"model-py-newer-syntax", "environment-tar"}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
@pytest.mark.parametrize("before", [b"", MODEL_PY.encode()])
def test_no_text_makes_a_rule_fail(before: bytes, tmp_path: Path, junk: bytes) -> None:
    """Otherwise one odd file stops the check."""
    assert not [fault for fault in _faults(tmp_path, before + junk) if "this rule itself failed" in fault.message]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (_class(_INIT.format("return np").replace("initialize", "prepare")), ["model-py-undefined-name"]),
        (_class(_INIT.format("self.y: Missing = 1")), []),  # such an annotation is never evaluated
        (_class(_INIT.format("self.a = __file__")), []),
        ("from numpy import *\n" + _class(_INIT.format("self.a = zeros(4)")), []),
        ("exec('n = 1')\n" + _class(_INIT.format("self.a = n")), []),
        (_class(_INIT.format("self.a = getattr(pb_utils, 'New', None)")), []),
        (_class(_INIT.format("self.a = hasattr(pb_utils, 'New') and pb_utils.New")), []),
        (_class(_INIT.format("pass").replace("self, args", "self, args, kwargs=None")), []),
        (_class(_INIT.format("self.a = open('words.txt').read()")), ["model-py-relative-file-elsewhere"]),
        (_class(_INIT.format("self.a = open('words.txt', 'w')")), []),
        (_class(_INIT.format("self.a = open(args['model_repository'] + '/w.txt').read()")), ["model-py-missing-file"]),
        (_class("    def execute(self, requests):\n        if requests:\n            return [1]\n"), []),
        (_class("    def execute(self, requests):\n        self.queue.put(requests)\n\n    queue: object\n"), []),
        (_class("    def execute(self, requests):\n        return []\n"), ["model-py-returns-no-list"]),
        (_class("    def execute(self, requests):\n        raise ValueError\n"), []),
        (f"{MODEL_PY}\n    @staticmethod\n    def auto_complete_config(x): ...\n", ["model-py-auto-complete"]),
        (_class(_OPENING.format('file = open("logs.txt", "w")\n        if file:')), ["model-py-open-files"]),
        (_class(_OPENING.format('with open("logs.txt", "w") as file:')), []),
    ],
)  # fmt: skip
def test_names_arguments_files_and_answers(code: str, expected: list[str], tmp_path: Path) -> None:
    """Otherwise the first load or request finds it, or a model that answers is refused."""
    assert _rules(tmp_path, code) == expected


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("return np.zeros(4)", "undefined-name"),
        ('return pb_utils.get_input_tensor_by_name(request, "X").shape[0]', "object-use"),
        ('if request:\n            pb_utils.InferenceResponse(error="none")', "call-arguments"),
    ],
)
def test_where_a_line_may_never_run_it_is_a_warning(line: str, rule: str, tmp_path: Path) -> None:
    """Otherwise a helper that nobody calls keeps a model that answers from being built."""
    (fault,) = _faults(tmp_path, f"{MODEL_PY}\n    def later(self, request):\n        {line}\n")
    assert (fault.rule, fault.severity) == (f"model-py-{rule}", Severity.WARNING)
    assert fault.effect.startswith("it fails when this line runs")


def test_a_large_model_py_is_read_and_a_larger_one_is_said(tmp_path: Path) -> None:
    """Otherwise a table of data in model.py hides its faults."""
    for size, expected in ((400_000, "model-py-no-execute"), (600_000, "model-py-unread")):
        table = f'WORDS = "{"x" * size}"\n'
        assert _rules(tmp_path, table + _class("    pass\n")) == [expected]


def test_a_called_model_that_is_not_in_the_folder(tmp_path: Path) -> None:
    """Otherwise every request fails, and nothing said so before."""
    code = _class("    def execute(self, requests):\n        return [self.ask(each) for each in requests]\n\n")
    code += "    def ask(self, each):\n"
    code += '        return pb_utils.InferenceRequest(model_name="{}", requested_output_names=[], inputs=[]).exec()\n'
    for called, severity in (("a.stop", Severity.ERROR), ("detector", Severity.WARNING)):
        folder = write_folder(tmp_path / called, members("a", model_py=code.format(called)))
        assert [(fault.rule, fault.severity) for fault in faults(folder)] == [("model-py-called-model", severity)]


@pytest.mark.parametrize(("image", "found"), [("24.09", True), ("25.03", False)])
def test_parameters_of_responses_by_release(image: str, found: bool, tmp_path: Path) -> None:
    """Otherwise a model for a new image is refused, or one for an old image fails every request."""
    code = MODEL_PY.replace("x)])", 'x)], parameters={"score": 1})')
    rules = {fault.rule for fault in _faults(tmp_path, code, image=image)}
    assert ("model-py-call-arguments" in rules) is found


@pytest.mark.parametrize(
    ("triton", "image", "expected"),
    [
        ("2.51.0", "24.09", [("stub-release", Severity.ERROR)]),
        ("2.51.0", "24.10", []),
        ("", "24.09", [("stub-release-unknown", Severity.WARNING)]),
        ("2.51.0", "", []),
    ],
)
def test_a_stub_is_of_one_release(triton: str, image: str, expected: object, tmp_path: Path) -> None:
    """Otherwise the archive is deployed, and its steps do not load."""
    files: dict[str, Content] = {**members("a"), "a.step/triton_python_backend_stub": b"\x7fELF"}
    if triton:
        files["manifest.json"] = f'{{"triton": "{triton}"}}'
    found = faults(write(tmp_path / "a.tar.gz", files), image=image, instance="ml.c5.xlarge")
    assert [(fault.rule, fault.severity) for fault in found if fault.rule.startswith("stub")] == expected


ANSWERS = "    def execute(self, requests):\n        return []\n"
ABSTRACT = "    @abstractmethod\n    def scale(self, x): ...\n"
CLASSES = {
    "inherited": f"class Step(ABC):\n{ABSTRACT}\nclass TritonPythonModel(Step):\n{ANSWERS}",
    "metaclass": f"class TritonPythonModel(metaclass=abc.ABCMeta):\n{ABSTRACT}{ANSWERS}",
    "property": f"class TritonPythonModel(ABC):\n    @property\n{ABSTRACT}{ANSWERS}",
    "through-two": f"class A(ABC):\n{ABSTRACT}\nclass B(A):\n    pass\n\nclass TritonPythonModel(B):\n{ANSWERS}",
    "abstract-again": f"class A(ABC):\n    def scale(self, x): ...\n\nclass TritonPythonModel(A):\n{ABSTRACT}{ANSWERS}",
    "defined": f"class Step(ABC):\n{ABSTRACT}\nclass TritonPythonModel(Step):\n{ANSWERS}    def scale(self, x): ...\n",
    "assigned": f"class Step(ABC):\n{ABSTRACT}\nclass TritonPythonModel(Step):\n{ANSWERS}    scale = execute\n",
    "between": f"class A(ABC):\n{ABSTRACT}\nclass B(A):\n    scale = None\n\nclass TritonPythonModel(B):\n{ANSWERS}",
    "no-metaclass": f"class TritonPythonModel:\n{ABSTRACT}{ANSWERS}",
    "nothing-abstract": f"class TritonPythonModel(ABC):\n{ANSWERS}",
    "defined-later": f"class TritonPythonModel(ABC):\n{ABSTRACT}    def scale(self, x): ...\n{ANSWERS}",
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_abstract_if_python_makes_no_object_of_it(name: str, tmp_path: Path) -> None:
    """Otherwise the load on the endpoint finds it, or a class with base classes of its own is refused."""
    code = f"import abc\nfrom abc import ABC, abstractmethod\n\n{CLASSES[name]}"
    defined: dict[str, type] = {}
    exec(code, defined)
    rules = {fault.rule for fault in _faults(tmp_path, code)}
    with pytest.raises(TypeError) if "model-py-abstract" in rules else nullcontext():
        defined["TritonPythonModel"]()
