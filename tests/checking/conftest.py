"""The folder that the tests of reports run in, and an endpoint."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.checking.endpoint import Endpoint
from tests.running import serving
from triton_ensembles.server.sagemaker_server import SageMakerServer


@contextmanager
def quick_folder() -> Iterator[Path]:
    """In memory where Linux has it: making and removing thousands of folders takes a disk long."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="checking-", dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def quick_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


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
