"""The stub package: it has the names of the real stub, and type checkers find with it what is wrong in a step."""

import ast
import json
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkout import ENSEMBLES, ROOT
from tests.configs import ON_CPU, tensors
from tests.files import write_files
from tests.running import serving
from triton_ensembles.checking.registry import RULES
from triton_ensembles.server.triton_server import TritonServer

STUBS = ROOT / "triton_python_backend_utils-stubs"
DUMP = """import inspect
import json

import triton_python_backend_utils as pb_utils


def described(thing):
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return (thing.__doc__ or "").strip().splitlines()[0] if callable(thing) else ""


DUNDERS = "__init__", "__dlpack__", "__dlpack_device__"


class TritonPythonModel:
    def initialize(self, args):
        own = {name: thing for name, thing in vars(pb_utils).items() if not inspect.ismodule(thing) and name[0] != "_"}
        import c_python_backend_utils as native

        own |= {alias: getattr(native, name) for name, alias in NAMES.items()}
        found = {name: "" if isinstance(thing, type) else described(thing) for name, thing in own.items()}
        for owner, thing in own.items():
            members = vars(thing) if isinstance(thing, type) else ()
            members = [name for name in members if name[:2] != "__" or name in DUNDERS]
            found |= {f"{owner}.{name}": described(getattr(thing, name)) for name in members}
        with open(args["model_repository"] + "/found.json", "w") as file:
            json.dump(found, file)

    def execute(self, requests):
        return []
"""
PRIVATE = {
    "InferenceResponseSender": "_ResponseSender",
    "ResponseIterator": "_ResponseIterator",
    "InferenceTrace": "_InferenceTrace",
    "Metric": "_Metric",
}
LATER = {"InferenceResponse.parameters", "_ResponseIterator.cancel"}
"""What came after 24.10."""
Parameters = list[tuple[str | None, bool]]
"""Names, None for those without one, and whether each has a default."""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The names of pb_utils in the real stub, such as Tensor.as_numpy, and the signatures of those that are called."""
    folder = tmp_path_factory.mktemp("real")
    config, code = f'backend: "python"\n{tensors()}{ON_CPU}', DUMP.replace("NAMES", repr(PRIVATE))
    write_files(folder, {"models/m/config.pbtxt": config, "models/m/1/model.py": code})
    with serving(TritonServer([folder / "models"], log=folder / "log")):
        return dict(json.loads((folder / "models/m/found.json").read_text()))


def written() -> dict[str, Parameters | None]:
    """The names of the stub package, and the parameters of functions."""
    found: dict[str, Parameters | None] = {}
    for node in ast.parse((STUBS / "__init__.pyi").read_text()).body:
        found |= dict(_members([node]))
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}": given for name, given in _members(node.body)}
    return found


def _members(body: list[ast.stmt]) -> Iterator[tuple[str, Parameters | None]]:
    seen = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name not in seen:  # of overloads the first
                yield node.name, _parameters(node.args)
            seen.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, None
        elif isinstance(node, ast.ClassDef):
            yield node.name, None


def _parameters(given: ast.arguments) -> Parameters:
    plain = [*given.posonlyargs, *given.args]
    defaults = [False] * (len(plain) - len(given.defaults)) + [True] * len(given.defaults)
    found = [(None if each in given.posonlyargs else each.arg, has) for each, has in zip(plain, defaults, strict=True)]
    found += [(each.arg, value is not None) for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return [each for each in found if each[0] != "self"][
        bool(given.posonlyargs and given.posonlyargs[0].arg == "self") :
    ]


def _real_parameters(signature: str) -> Parameters:
    """Those of a signature as pybind11 or inspect writes it."""
    inner = re.sub(r"\[[^\[\]]*\]|<[^<>]*>", "_", re.sub(r"\[[^\[\]]*\]", "_", signature.partition("(")[2]))
    parts = [part.strip() for part in inner.partition(")")[0].split(",") if part.strip()]
    names = [(re.split(r"[:=]", part)[0].strip(), "=" in part) for part in parts]
    return [(None if re.fullmatch(r"arg\d", name) else name, has) for name, has in names if name != "self"]


def test_it_has_the_names_of_the_real_stub(real: dict[str, str]) -> None:
    """Otherwise an editor calls wrong what works, or offers what fails."""
    mine = {name for name in written() if name[0] != "_" or name.partition(".")[0] in PRIVATE.values()}
    theirs = {name for name in real if name in mine or not name.partition(".")[2].startswith("_")}
    differing = (mine - LATER) ^ theirs
    assert not {name for name in differing if not name.endswith((".__init__", ".__next__"))}


def test_parameters_and_defaults_are_those_of_the_real_stub(real: dict[str, str]) -> None:
    """Otherwise a call that the checker accepts is a TypeError in Triton."""
    mine, compared = written(), 0
    for place, described in real.items():
        own = mine.get(place)
        if own is None or "(" not in described or "wrapper" in described or described.startswith("Initialize self"):
            continue
        own = [each for each in own if f"{place.partition('.')[0]}.{each[0]}" not in LATER]
        expected = _real_parameters(described)
        if place == "Tensor.from_dlpack":  # pybind11 calls the name self, for a method that is none
            expected = [(None, False), *expected]
        if place == "InferenceRequest.__init__":
            assert dict(own) == dict(expected)
        else:
            assert own == expected, place
        compared += 1
    assert compared > 60


GOOD = """import numpy as np
import triton_python_backend_utils as pb_utils
from triton_python_backend_utils import Tensor


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config: pb_utils.ModelConfig) -> pb_utils.ModelConfig:
        config.set_max_batch_size(4)
        return config

    async def execute(self, requests: list[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            y: Tensor | None = pb_utils.get_input_tensor_by_name(request, "OPTIONAL")
            if y is not None:
                x = x + y.as_numpy()
            call = pb_utils.InferenceRequest(model_name="m", requested_output_names=["Y"], inputs=[Tensor("X", x)])
            answer = await call.async_exec()
            if answer.has_error():
                return [pb_utils.InferenceResponse(error=answer.error())]
            for part in call.exec(decoupled=True):
                pb_utils.Logger.log_info(str(part.has_error()))
            request.get_response_sender().send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
            pb_utils.InferenceRequest("id", 0, [], ["Y"], "m")
            answers.append(pb_utils.InferenceResponse([Tensor("Y", np.zeros(3))]))
        error = pb_utils.TritonError("no", pb_utils.TritonError.INVALID_ARG)
        family = pb_utils.MetricFamily("a", "b", pb_utils.MetricFamily.COUNTER)
        family.Metric(labels={"a": "b"}).increment(1)
        return [*answers, pb_utils.InferenceResponse([], error)]
"""
BAD = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def execute(self, requests: list[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        call = pb_utils.InferenceRequest(model_name="m", requested_output_names=["Y"], inputs=[])
        LINE
        return []
"""
WRONG = {
    "misspelt_method": 'pb_utils.get_input_tensor_by_name(requests[0], "X").as_nunpy()',
    "misspelt_function": 'pb_utils.get_input_tensor_by_nam(requests[0], "X")',
    "misspelt_of_request": "requests[0].request_idd()",
    "misspelt_of_logger": 'pb_utils.Logger.log_warning("x")',
    "list_for_array": 'pb_utils.Tensor("X", [1, 2])',
    "tensor_by_name": 'pb_utils.Tensor(name="X")',
    "unknown_argument": "pb_utils.InferenceResponse(outputs=[])",
    "text_for_error": 'pb_utils.InferenceResponse(error="text")',
    "text_for_code": 'pb_utils.TritonError("x", "INTERNAL")',
    "text_for_names": 'pb_utils.InferenceRequest(model_name="m", requested_output_names="Y", inputs=[])',
    "missing_model": 'pb_utils.InferenceRequest(requested_output_names=["Y"], inputs=[])',
    "not_awaited": "call.async_exec().has_error()",
    "not_awaited_name": 'answer = call.async_exec()\n        pb_utils.get_output_tensor_by_name(answer, "Y")',
    "not_awaited_alone": "call.async_exec()",
    "unknown_option": "call.exec(decouple=True)",
}


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and the packages here."""
    folder = tmp_path_factory.mktemp("types")
    venv.create(folder / "environment")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps"]
    subprocess.run([*pip, "--target", folder / "wheel", wheel], check=True)
    (site,) = (folder / "environment/lib").glob("python*/site-packages")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "beside.pth").write_text(f"{folder / 'wheel'}\n{packages}\n")
    return folder / "environment"


def checked(python: Path, folder: Path) -> dict[str, str]:
    """What mypy and ty say of the files in a folder, by the checker, with the settings that the page names."""
    page = (ROOT / "docs" / "unit-tests.md").read_text()
    (folder / "pyproject.toml").write_text("".join(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)))
    mypy = [sys.executable, "-m", "mypy", "--python-executable", python / "bin/python", "--check-untyped-defs"]
    mypy += ["--ignore-missing-imports", "--no-error-summary", "--scripts-are-modules"]
    commands = {"mypy": [*mypy, "--cache-dir", folder.parent / "cache"]}
    if ty := shutil.which("ty", path=str(Path(sys.executable).parent)) or shutil.which("ty"):
        concise = ("--output-format", "concise", "--ignore", "import-not-found")
        commands["ty"] = [ty, "check", "--python", python, *concise]
    files = sorted(folder.glob("*.py"))
    return {
        name: subprocess.run([*command, *files], capture_output=True, text=True, cwd=folder).stdout
        for name, command in commands.items()
    }


@pytest.mark.slow
def test_type_checkers_find_what_is_wrong(python: Path, tmp_path: Path) -> None:
    """Otherwise it is found when a request fails."""
    write_files(tmp_path, {f"steps/{name}.py": BAD.replace("LINE", line) for name, line in WRONG.items()})
    for checker, said in checked(python, tmp_path / "steps").items():
        missed = [name for name in WRONG if not re.search(rf"^{name}\.py:[\d:]+ error", said, re.MULTILINE)]
        assert missed == [], f"{checker}: {said}"


@pytest.mark.slow
def test_type_checkers_find_nothing_in_what_is_right(python: Path, tmp_path: Path) -> None:
    """Otherwise a step needs comments that suppress them."""
    files = {"good.py": GOOD}
    files |= {f"{path.parts[-4]}_{path.parts[-3]}.py": path.read_text() for path in ENSEMBLES.glob("*/*/1/model.py")}
    write_files(tmp_path, {f"steps/{name}": text for name, text in files.items()})
    for rule in RULES:
        for name, text in ((rule.good and rule.good.files) or {}).items():
            if name.endswith("model.py") and isinstance(text, str):
                files[f"{rule.id.replace('-', '_')}.py"] = text
    assert len(files) > 50
    said = checked(python, tmp_path / "steps")
    assert not any("error" in text for text in said.values()), said
