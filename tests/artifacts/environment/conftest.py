import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.environment_files import PROCESSING
from triton_ensembles.artifacts.environment import make_packed_environment
from triton_ensembles.project.recipe.environment_file import read_environment_file

FROM_PYPI = replace(read_environment_file(PROCESSING), channels=("file:///none",))
# What tokenizers asks for and never imports.
NEVER_IMPORTED = ("*/site-packages/huggingface_hub*", "*/site-packages/hf_xet*")


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The project's own environment, from PyPI and an installed Python, built once, and its facts."""
    destination = tmp_path_factory.mktemp("packed") / "environment"
    return destination, make_packed_environment(FROM_PYPI, destination=destination, exclude=NEVER_IMPORTED)


@pytest.fixture(scope="session")
def unpacked(packed: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in another folder."""
    return shutil.copytree(packed[0], tmp_path_factory.mktemp("somewhere else") / "environment", symlinks=True)


def run_bare(executable: Path, code: str, **environment: str) -> str:
    """Run Python code with an empty environment (``env -i``), from the root folder."""
    done = subprocess.run(
        [os.fspath(executable), "-B", "-c", code], env=environment, cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
