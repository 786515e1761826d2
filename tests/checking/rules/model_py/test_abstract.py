"""A model's class that is abstract; Python itself is the judge."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.checking.packing import code_faults

EXECUTE = "    def execute(self, requests):\n        return []\n"
ABSTRACT = "    @abstractmethod\n    def scale(self, x): ...\n"
CLASSES = {
    "inherited": f"class Step(ABC):\n{ABSTRACT}\nclass TritonPythonModel(Step):\n{EXECUTE}",
    "own": f"class TritonPythonModel(ABC):\n{ABSTRACT}{EXECUTE}",
    "metaclass": f"class TritonPythonModel(metaclass=abc.ABCMeta):\n{ABSTRACT}{EXECUTE}",
    "by-module": f"class TritonPythonModel(ABC):\n{ABSTRACT.replace('@', '@abc.')}{EXECUTE}",
    "property": f"class TritonPythonModel(ABC):\n    @property\n{ABSTRACT}{EXECUTE}",
    "through-two": f"class A(ABC):\n{ABSTRACT}\nclass B(A):\n    pass\n\nclass TritonPythonModel(B):\n{EXECUTE}",
    "abstract-again": f"class A(ABC):\n    def scale(self, x): ...\n\nclass TritonPythonModel(A):\n{ABSTRACT}{EXECUTE}",
    "defined": f"class Step(ABC):\n{ABSTRACT}\nclass TritonPythonModel(Step):\n{EXECUTE}    def scale(self, x): ...\n",
    "assigned": f"class Step(ABC):\n{ABSTRACT}\nclass TritonPythonModel(Step):\n{EXECUTE}    scale = execute\n",
    "between": f"class A(ABC):\n{ABSTRACT}\nclass B(A):\n    scale = None\n\nclass TritonPythonModel(B):\n{EXECUTE}",
    "no-metaclass": f"class TritonPythonModel:\n{ABSTRACT}{EXECUTE}",
    "nothing-abstract": f"class TritonPythonModel(ABC):\n{EXECUTE}",
    "defined-later": f"class TritonPythonModel(ABC):\n{ABSTRACT}    def scale(self, x): ...\n{EXECUTE}",
}


@pytest.mark.parametrize("name", CLASSES)
def test_it_is_found_if_python_makes_no_object_of_it(name: str, tmp_path: Path) -> None:
    """Otherwise the load on the endpoint finds it, or a class with base classes of its own is refused."""
    code = f"import abc\nfrom abc import ABC, abstractmethod\n\n{CLASSES[name]}"
    defined: dict[str, type] = {}
    exec(code, defined)
    rules = {fault.rule for fault in code_faults(tmp_path, code)}
    with pytest.raises(TypeError) if "model-py-abstract" in rules else nullcontext():
        defined["TritonPythonModel"]()
