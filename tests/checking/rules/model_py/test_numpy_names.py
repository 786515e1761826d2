"""Names of numpy in model.py: misspelt ones, and those that the step's numpy has not; the real server is the judge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.checking.packing import MODEL_PY, faults
from tests.checking.taken_lines import assert_agreed
from triton_ensembles.checking.examples import python_model, with_environment
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.python.name_table import NUMPY
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

ABOUT = {"model-py-numpy-name", "model-py-numpy-version"}
# A line at the import, whether the server loads it, and a part of the cure ("" for no fault).
LINES = {
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
}  # fmt: skip


@pytest.mark.verdicts
def test_the_server_agrees_on_names(tmp_path: Path) -> None:
    """Otherwise a misspelt name is found by the load, or one that numpy has is refused."""
    assert_agreed(LINES, ABOUT, tmp_path, "import numpy as np\n")


@pytest.mark.parametrize(
    ("version", "line", "severity"),
    [
        ("1.19.5", "np.float", None),
        ("1.26.4", "np.float", Severity.ERROR),
        ("1.26.4", "np.concat", Severity.ERROR),
        ("2.1.0", "np.concat", None),
        ("2.9.0", "np.concat", None),
        ("2.9.0", "np.new_name_of_29", None),
    ],
)
def test_the_numpy_of_the_environment_decides(
    version: str, line: str, severity: Severity | None, tmp_path: Path
) -> None:
    """Otherwise code for the numpy of the environment is refused, or code for another one is deployed."""
    example = with_environment(
        site={f"numpy-{version}.dist-info/METADATA": ""}, imports=f"import numpy as np\n{line}\n"
    )
    stage(example, tmp_path, "m")
    assert [fault.severity for fault in faults(tmp_path) if fault.rule in ABOUT] == ([severity] if severity else [])


@pytest.mark.parametrize(("image", "warned"), [("22.08", False), ("24.09", True), ("25.09", False), ("mine:1", False)])
def test_the_numpy_of_the_image_decides(image: str, warned: bool, tmp_path: Path) -> None:
    """Otherwise what an image has is warned of: those since 24.11 may have numpy 2, of older ones it is not known."""
    stage(Example(python_model(), {"1/model.py": f"import numpy as np\nnp.trapezoid\n{MODEL_PY}"}), tmp_path, "m")
    assert ("model-py-numpy-version" in {fault.rule for fault in faults(tmp_path, image=image)}) is warned


def test_the_table_has_the_names_of_this_numpy() -> None:
    """Otherwise a name that numpy has is refused."""
    version = NUMPY.version(np.__version__)
    assert version
    named = {name for name in dir(np) if not name.startswith("_")}
    assert not [name for name in named if not NUMPY.has("numpy", name, version)]
