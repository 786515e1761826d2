"""An environment that has the wheel with its extra `serve` and nothing else, on the Python that we recommend."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from triton_ensembles.triton.interpreter import find_interpreter

RECOMMENDED = "3.12"


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a shell in which `pip install 'WHEEL[serve]'` and `triton-ensembles setup` have been run."""
    folder = tmp_path_factory.mktemp("installed")
    interpreter = find_interpreter(RECOMMENDED)
    python = interpreter.executable if interpreter else Path(sys.executable)
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", f"{wheel}[serve]"], check=True)
    shell = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTEST", "PYTHON"))}
    shell["PATH"] = f"{folder}/venv/bin:{shell['PATH']}"
    shell["TRITON_ENSEMBLES_HOME"] = f"{folder}/home"
    said = subprocess.run(
        [folder / "venv" / "bin" / "triton-ensembles", "setup"], env=shell, capture_output=True, text=True, check=True
    )
    assert "engines  onnxruntime" in said.stderr
    return shell
