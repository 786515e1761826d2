"""Environment files, as tests write them and as the project has one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from checkout import ROOT
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec, read_environment_file

PROCESSING = ROOT / "envs" / "processing.yml"
WriteFile = Callable[[str], EnvironmentSpec]


@pytest.fixture
def environment_file(tmp_path: Path) -> WriteFile:
    def write(text: str) -> EnvironmentSpec:
        path = tmp_path / "environment.yml"
        path.write_text(text, encoding="utf-8")
        return read_environment_file(path)

    return write
