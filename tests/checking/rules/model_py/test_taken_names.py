"""Names that model.py takes from numpy and from the standard library; the real server is the judge."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Mapping, Set
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.checking.packing import MODEL_PY, faults
from tests.checking.served import ModelLoader, server_results
from triton_ensembles.checking.examples import python_model, with_environment
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.python.name_table import NUMPY, STANDARD
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

OF_NUMPY, OF_PYTHON = {"model-py-numpy-name", "model-py-numpy-version"}, {"model-py-standard-name"}
# Lines at the import, whether the server loads them, and a part of the cure ("" for no fault).
NUMPY_LINES = {
    "type": ("X = np.float23(1)", False, "'float32'"),
    "function": ("X = np.arrray([1])", False, "'array'"),
    "module": ("X = np.random.rnad(4)", False, "'rand'"),
    "import": ("from numpy import expand_dim", False, "'expand_dims'"),
    "removed": ("X = np.zeros(4, dtype=np.float)", False, "write float"),
    "dtype": ("X = np.zeros(4, dtype='flaot32')", False, "'float32'"),
    "dtype-of-triton": ("X = np.zeros(4).astype('FP32')", False, "'float32'"),
    "came-later": ("X = np.concat([[1], [2]])", False, "another numpy"),
    "right": ("X = np.zeros(4, 'float32').astype('<f4').astype('datetime64[s]'), np.random.rand(4)", True, ""),
    "asked": ("X = np.float23 if hasattr(np, 'float23') else None", True, ""),
    "caught": ("try:\n    X = np.float23\nexcept AttributeError:\n    X = None", True, ""),
    "put": ("np.float = float\nX = np.float", True, ""),
    "other": ("class np:\n    float23 = 1\nX = np.float23", True, ""),
    "annotation": ("def f():\n    x: np.float23 = 1", True, ""),
}
UTILS_LINES = {
    "early": ("X = pb_utils.Tensor", False, "inside a method"),
    "annotated": ("def f(x: list[pb_utils.Tensor]) -> pb_utils.InferenceResponse: pass", False, "in quotes"),
    "derived": ("class E(pb_utils.TritonModelException): pass", False, "inside a method"),
    "from": ("from triton_python_backend_utils import Tensor", False, "inside a method"),
    "metric": ("X = pb_utils.MetricFamily.GAUGE", False, "inside a method"),
    "in-time": ("X = pb_utils.ModelConfig, pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL", True, ""),
    "quoted": ("def f(x: 'pb_utils.Tensor'):\n    y: pb_utils.Tensor = 1", True, ""),
    "later": ("def f():\n    return pb_utils.Tensor", True, ""),
    "guarded": ("X = getattr(pb_utils, 'Tensor', None)", True, ""),
}
STANDARD_LINES = {
    "moved": ("from collections import Mapping, deque", False, "collections.abc"),
    "moved-attribute": ("import collections as c\nc.Mapping", False, "collections.abc"),
    "removed": ("import inspect\ninspect.getargspec(len)", False, "another Python"),
    "misspelt": ("from json import JSONDecoderError", False, "'JSONDecodeError'"),
    "class-body": ("import time\nclass A:\n    began = time.clock()", False, "the name"),
    "submodule": ("from concurrent import futures\nfutures.ThreadPoolExecuter", False, "'ThreadPoolExecutor'"),
    "right": ("import os.path\nfrom datetime import UTC\nimport datetime\nos.path.join('a'), datetime.UTC, os.O_RDONLY",
              True, ""),
    "caught": ("try:\n    from collections import Mapping\nexcept ImportError:\n    Mapping = dict", True, ""),
    "asked": ("import time\nX = time.clock() if hasattr(time, 'clock') else 0", True, ""),
    "by-version": ("import sys, time\nif sys.version_info < (3, 8):\n    time.clock()", True, ""),
    "put": ("import collections, collections.abc\ncollections.Mapping = collections.abc.Mapping\ncollections.Mapping",
            True, ""),
    "other": ("import time\ntime = 'now'\ntime.upper()", True, ""),
    "argument": ("import queue\ndef f(queue):\n    return queue.push(1)\nclass Q:\n    push = id\nf(Q)", True, ""),
    "never-imported": ("string = 'abc'\nstring.upper()", True, ""),
    "never-called": ("import time\ndef f():\n    return time.clock()", True, ""),
    "annotation": ("import time\ndef f(x: 'time.Clock'):\n    y: time.Clock = 1", True, ""),
}  # fmt: skip
# A module helper.py beside model.py, a line of model.py, whether the server loads them, and a part of the cure.
HELPER = "import numpy as np\n\n\ndef answer(x):\n    return x\n\n\nclass Steps:\n    def part(self): pass\n"
OWN_LINES = {
    "from": (HELPER, "from helper import ansver", False, "'answer'"),
    "relative": (HELPER, "from .helper import ansver", False, "'answer'"),
    "attribute": (HELPER, "import helper as h\nX = h.ansver", False, "'answer'"),
    "method": (HELPER, "from helper import part", False, "define it"),
    "all": (f"{HELPER}\n__all__ = ['ansver']", "from helper import *", False, "'answer'"),
    "main": (f"{HELPER}\nif __name__ == '__main__':\n    late = 1", "from helper import late", False, "define it"),
    "right": (HELPER, "from helper import answer, np\nimport helper\nX = helper.Steps, helper.__name__", True, ""),
    "star": ("from math import *", "from helper import floor", True, ""),
    "getattr": ("def __getattr__(name): return 1", "from helper import ansver", True, ""),
    "globals": ("globals()['ansver'] = 1", "import helper\nX = helper.ansver", True, ""),
    "executed": ("exec('ansver = 1')", "from helper import ansver", True, ""),
    "condition": ("try:\n    ansver = 1\nexcept ValueError:\n    other = 2", "from helper import ansver", True, ""),
    "put": (HELPER, "import helper\nhelper.ansver = 1\nX = helper.ansver", True, ""),
    "caught": (HELPER, "try:\n    from helper import ansver\nexcept ImportError:\n    ansver = None", True, ""),
    "shared": ("def f():\n    global late\n    late = 1\nf()", "from helper import late", True, ""),
    "unused-all": (f"{HELPER}\n__all__ = ['ansver']", "import helper", True, ""),
    "standard": (HELPER, "from queue import Queue", True, ""),
}


@pytest.mark.verdicts
def test_the_server_agrees_on_names_of_own_modules(tmp_path: Path) -> None:
    """Otherwise the load finds a name misspelt in one of two files, or a model that works is refused."""
    for name, (helper, line, _, _) in OWN_LINES.items():
        files = {"1/helper.py": helper, "1/queue.py": "", "1/model.py": f"{line}\n{MODEL_PY}"}
        stage(Example(python_model(), files), tmp_path / "models", name)
    with ModelLoader(tmp_path / "models", tmp_path) as server:
        results = server.load_all(list(OWN_LINES))
    assert {n for n, result in results.items() if result.loaded} == {
        n for n, (*_, loads, _) in OWN_LINES.items() if loads
    }
    found = [fault for fault in faults(tmp_path / "models") if fault.severity is not Severity.NOTE]
    assert {fault.rule for fault in found} == {"model-py-undefined-name"}
    cures = {fault.place.path.split("/")[-3]: fault.cure for fault in found if fault.severity is Severity.ERROR}
    assert cures.keys() == {name for name, line in OWN_LINES.items() if not line[2]}
    assert all(OWN_LINES[name][3] in cure for name, cure in cures.items()), cures


def test_a_missing_name_of_an_own_module_in_a_function_is_a_warning(tmp_path: Path) -> None:
    """Otherwise it is found by a request on AWS, or a model that answers all others is refused."""
    code = f"import helper\n\n\ndef late():\n    if True:\n        return helper.ansver\n\n\n{MODEL_PY}"
    stage(Example(python_model(), {"helper.py": HELPER, "1/model.py": code}), tmp_path, "m")
    (fault,) = faults(tmp_path)
    assert (fault.severity, fault.place.line) == (Severity.WARNING, 6) and "'answer'" in fault.cure


@pytest.mark.verdicts
@pytest.mark.parametrize(
    ("lines", "rules", "head"),
    [
        (NUMPY_LINES, OF_NUMPY, "import numpy as np\n"),
        (STANDARD_LINES, OF_PYTHON, ""),
        (UTILS_LINES, {"model-py-unknown-attribute"}, "import triton_python_backend_utils as pb_utils\n"),
    ],
    ids=["numpy", "standard", "utils"],
)
def test_the_server_agrees_on_names(
    lines: Mapping[str, tuple[str, bool, str]], rules: Set[str], head: str, tmp_path: Path
) -> None:
    """Otherwise the load finds a misspelt name, or one of a laptop's Python; or a name that there is is refused."""
    texts = {name: {"1/model.py": f"{head}{line}\n{MODEL_PY}"} for name, (line, _, _) in lines.items()}
    results = server_results({name: Example(python_model(), files) for name, files in texts.items()}, tmp_path)
    assert {name: result.loaded for name, result in results.items()} == {n: loads for n, (_, loads, _) in lines.items()}
    found = [fault for fault in faults(tmp_path / "models") if fault.rule in rules]
    cures = {fault.place.path.split("/")[-3]: fault.cure for fault in found}
    assert cures.keys() == {name for name, (_, loads, _) in lines.items() if not loads}
    assert all(lines[name][2] in cure for name, cure in cures.items()), cures


def of_rules(rules: Set[str], example: Example, folder: Path, image: str = "") -> list[Fault]:
    stage(example, folder, "m")
    return [fault for fault in faults(folder, image=image) if fault.rule in rules]


def lines_of(code: str) -> Example:
    return Example(python_model(), {"1/model.py": f"{code}\n{MODEL_PY}"})


@pytest.mark.parametrize(
    ("version", "line", "severities"),
    [
        ("1.19.5", "np.float", []),
        ("1.26.4", "np.float", [Severity.ERROR]),
        ("1.26.4", "np.concat", [Severity.ERROR]),
        ("2.1.0", "np.concat", []),
        ("2.9.0", "np.new_name_of_29", []),
    ],
)
def test_the_numpy_of_the_environment_decides(version: str, line: str, severities: object, tmp_path: Path) -> None:
    """Otherwise code for the numpy of the environment is refused, or code for another one is deployed."""
    site = {f"numpy-{version}.dist-info/METADATA": ""}
    example = with_environment(site=site, imports=f"import numpy as np\n{line}\n")
    assert [fault.severity for fault in of_rules(OF_NUMPY, example, tmp_path)] == severities


@pytest.mark.parametrize(
    ("image", "of_numpy", "of_python"),
    [("22.08", 0, 1), ("24.09", 1, 1), ("24.12", 0, 0), ("25.09", 0, 0), ("mine:1", 0, 0)],
)
def test_the_image_decides(image: str, of_numpy: int, of_python: int, tmp_path: Path) -> None:
    """Otherwise what a laptop has dies on SageMaker. Images since 24.11 may have numpy 2; of old ones it is unknown."""
    example = lines_of("import numpy as np\nnp.trapezoid\nfrom itertools import batched")
    found = of_rules(OF_NUMPY | OF_PYTHON, example, tmp_path, image)
    expected = ["model-py-numpy-version"] * of_numpy + ["model-py-standard-name"] * of_python
    assert sorted(fault.rule for fault in found) == expected


def test_a_module_of_the_models_own_is_not_pythons(tmp_path: Path) -> None:
    """Otherwise a step with a file queue.py beside its model.py is refused."""
    files = {"1/queue.py": "def push(): pass\n", "1/model.py": f"from queue import push\n{MODEL_PY}"}
    assert not of_rules(OF_PYTHON, Example(python_model(), files), tmp_path)


def test_the_python_of_the_environment_decides(tmp_path: Path) -> None:
    """Otherwise code for the packed Python is judged by the image's."""
    (fault,) = of_rules(OF_PYTHON, with_environment(imports="from typing import override\n"), tmp_path, "24.12")
    assert "typing_extensions" in fault.cure


def test_the_tables_have_the_names_of_this_python_and_this_numpy() -> None:
    """Otherwise a name that Python or numpy has is refused."""
    version, of_numpy = STANDARD.version(platform.python_version()), NUMPY.version(np.__version__)
    assert version and of_numpy
    assert not [name for name in dir(np) if not name.startswith("_") and not NUMPY.has("numpy", name, of_numpy)]
    for module in sorted(STANDARD.modules):
        with suppress(ModuleNotFoundError):  # of another system
            named = {name for name in dir(importlib.import_module(module)) if not name.startswith("_")}
            assert not [f"{module}.{name}" for name in named if not STANDARD.has(module, name, version)]
