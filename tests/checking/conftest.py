"""The folder that the tests of reports run in, and an endpoint."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checking.endpoint import Endpoint
from tests.running import serving
from triton_ensembles.triton.sagemaker_server import SageMakerServer

_MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """As ``tmp_path``, but in memory where Linux has it: making and removing thousands of folders takes a disk long."""
    if not os.access(_MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="checking-", dir=_MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def git_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``tmp_path`` is the root of a git repository and the working folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """An empty endpoint of several models."""
    folder = tmp_path_factory.mktemp("endpoint")
    (folder / "empty").mkdir()
    with serving(SageMakerServer(folder / "empty", log=folder / "triton.log")) as server:
        yield Endpoint(server, folder)
