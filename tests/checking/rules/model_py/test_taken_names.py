"""Names that model.py takes from the numpy and the Python of its environment; for others see cases/."""

import importlib
import platform
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.checking.packing import faults
from triton_ensembles.checking.examples import with_environment
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.python.name_table import NUMPY, STANDARD
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage


def of_rules(prefix: str, example: Example, folder: Path, image: str = "") -> list[Fault]:
    stage(example, folder, "m")
    return [fault for fault in faults(folder, image=image) if fault.rule.startswith(prefix)]


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
    assert [fault.severity for fault in of_rules("model-py-numpy", example, tmp_path)] == severities


def test_the_python_of_the_environment_decides(tmp_path: Path) -> None:
    """Otherwise code for the packed Python is judged by the image's."""
    example = with_environment(imports="from typing import override\n")
    (fault,) = of_rules("model-py-standard-name", example, tmp_path, "24.12")
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
