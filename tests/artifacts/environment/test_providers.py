"""Which provider is used, and what is refused."""

from pathlib import Path

import pytest

from tests.environment_files import WriteFile
from triton_ensembles.artifacts.environment.packed import install
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.ground.errors import EnsembleError


def test_a_lock_of_a_channel_needs_one(environment_file: WriteFile, tmp_path: Path) -> None:
    """Otherwise packages of PyPI, which the lock does not know, take the place of conda's."""
    spec = environment_file(f"channels: ['file://{tmp_path}/none']\ndependencies: ['idna==3.10']\n")
    with pytest.raises(EnsembleError, match="its lock was made with a conda channel, and none can be reached"):
        install(spec, tmp_path / "prefix", print, Pins(("conda idna ==3.10 py_0",)))
