"""Names that model.py takes from numpy and from the standard library; the real server is the judge."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.checking.packing import MODEL_PY, faults
from triton_ensembles.checking.examples import python_model, with_environment
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.python.name_table import NUMPY, STANDARD
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

OF_NUMPY, OF_PYTHON = {"model-py-numpy-name", "model-py-numpy-version"}, {"model-py-standard-name"}
# A module helper.py beside model.py, a line of model.py, whether the server loads them, and a part of the cure.
HELPER = "import numpy as np\n\n\ndef answer(x):\n    return x\n\n\nclass Steps:\n    def part(self): pass\n"


def test_a_missing_name_of_an_own_module_in_a_function_is_a_warning(tmp_path: Path) -> None:
    """Otherwise it is found by a request on AWS, or a model that answers all others is refused."""
    code = f"import helper\n\n\ndef late():\n    if True:\n        return helper.ansver\n\n\n{MODEL_PY}"
    stage(Example(python_model(), {"helper.py": HELPER, "1/model.py": code}), tmp_path, "m")
    (fault,) = faults(tmp_path)
    assert (fault.severity, fault.place.line) == (Severity.WARNING, 6) and "'answer'" in fault.cure


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
