"""The packages of a fused ensemble."""

import subprocess
import sys
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import pytest

from triton_ensembles.artifacts.environment.left_out import DEFAULT_EXCLUDE
from triton_ensembles.building.made.fused_packages import LEFT_OUT


@pytest.mark.slow
@pytest.mark.parametrize("package", ["onnxruntime", "openvino", "tensorflow", "torch"])
def test_a_package_is_imported_without_what_is_left_out(package: str, tmp_path: Path) -> None:
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None
    installed = Path(spec.origin).parent
    globs = (*DEFAULT_EXCLUDE, *LEFT_OUT)
    for path in installed.rglob("*"):
        name = path.relative_to(installed.parent)
        if path.is_file() and not any(fnmatch(f"lib/python3.11/site-packages/{name}", glob) for glob in globs):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).symlink_to(path)
    command = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import {package}; print({package}.__file__)"
    result = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert result.stdout.startswith(str(tmp_path)), result.stderr
